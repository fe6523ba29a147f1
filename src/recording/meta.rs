//! The metadata of a recording: its version, its format, the rules that its keys were made under,
//! and the key variables that the recorded programs had.
//!
//! `_version` belongs to the format of plain recordings (docs/recording-format.md), `_loomrec` to
//! loomrec. Any other top-level key that begins with
//! `_` is kept unchanged.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::entry_field::STYLE;
use super::error::FormatError;
use super::key_variables::KeyVariables;
use super::pending::PendingKind;
use super::redact;
use loomrec_identity::typed_field::{FieldError, FieldReader, value_kind};
use loomrec_identity::{IdentityRules, JsonPointer, NormalizeRule, PlacePattern};

/// The major version of the newest `_loomrec.format` that this version understands.
const FORMAT_MAJOR: u64 = 1;

/// The newest version of identity rules that this version understands. Rules with headers have
/// version 2, since version 1 does not know them.
const IDENTITY_VERSION: u64 = VERSION_WITH_PATTERNS;
/// The version from which on rules name headers.
const VERSION_WITH_HEADERS: u64 = 2;
/// The version from which on `*` in a pointer stands for every member or element, and rules rename
/// what clients make anew.
const VERSION_WITH_PATTERNS: u64 = 3;

/// The member with what loomrec says of a recording.
const LOOMREC: &str = "_loomrec";
/// The member of that with the names of key variables.
const KEY_VARIABLES: &str = "key_variables";

/// The metadata of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingMeta {
    rules: IdentityRules,
    loomrec: bool,
    key_variables: KeyVariables,
    /// Every top-level `_` key in order, as it is in the file.
    keys: Map<String, Value>,
}

impl Default for RecordingMeta {
    /// Returns the metadata of a new recording without rules.
    fn default() -> Self {
        Self::new(&IdentityRules::default())
    }
}

impl RecordingMeta {
    /// How many entries a list of rules may have. Nobody could review more.
    pub const MOST_RULES: usize = 256;

    /// Returns the metadata of a new recording whose keys are made under `rules`.
    pub fn new(rules: &IdentityRules) -> Self {
        let mut keys = Map::new();
        keys.insert("_version".into(), 2.into());
        keys.insert(LOOMREC.into(), loomrec_json(rules));
        let (rules, key_variables) = (rules.clone(), KeyVariables::default());
        Self { rules, loomrec: true, key_variables, keys }
    }

    /// Returns the metadata of a recording whose entries wait for something.
    pub fn for_pending(rules: &IdentityRules, waiting: PendingKind) -> Self {
        let mut meta = Self::new(rules);
        if let Some(Value::Object(own)) = meta.keys.get_mut(LOOMREC) {
            own.insert("pending".into(), waiting.name().into());
        }
        meta
    }

    /// Returns what its entries wait for, if it says so.
    pub fn waits_for(&self) -> Option<PendingKind> {
        PendingKind::parse(self.keys.get(LOOMREC)?.get("pending")?.as_str()?)
    }

    /// Reads the top-level `_` keys of a file.
    ///
    /// # Errors
    /// If the version is below 2, the loomrec format is too new, or a key has the wrong
    /// shape.
    pub fn parse(keys: Map<String, Value>) -> Result<Self, FormatError> {
        let fields = FieldReader::new(&keys, "", STYLE);
        check_version(fields)?;
        let own = fields.read_object(LOOMREC, "an object").map_err(FormatError::Meta)?;
        let own = own.map(|own| FieldReader::new(own, "/_loomrec", STYLE));
        let rules = own.map(read_rules).transpose()?;
        let key_variables = own.map(read_key_variables).transpose().map_err(FormatError::Meta)?;
        let (loomrec, rules) = (rules.is_some(), rules.unwrap_or_default());
        Ok(Self { loomrec, rules, key_variables: key_variables.unwrap_or_default(), keys })
    }

    /// Returns the key variables that the recorded programs had. An empty set means that the
    /// recording does not say.
    pub fn key_variables(&self) -> &KeyVariables {
        &self.key_variables
    }

    /// Adds names of key variables that a recorded program had. A recording that another tool wrote
    /// does not get any before it is adopted.
    pub fn add_key_variables(&mut self, names: &KeyVariables) {
        if !self.loomrec || names.is_within(&self.key_variables) {
            return;
        }
        self.key_variables.add(names);
        let mut stated = Self::stated_key_variables(&self.keys);
        stated.extend(names.iter().map(str::to_owned));
        Self::state_key_variables(&mut self.keys, &stated);
    }

    /// Returns the names of key variables that top-level `_` keys state, also those that only a
    /// newer version knows.
    pub fn stated_key_variables(keys: &Map<String, Value>) -> BTreeSet<String> {
        let stated = keys.get(LOOMREC).and_then(|own| own.get(KEY_VARIABLES)?.as_array());
        stated.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    }

    /// Makes the top-level `_` keys of a recording that loomrec wrote state these names.
    pub fn state_key_variables(keys: &mut Map<String, Value>, names: &BTreeSet<String>) {
        let Some(Value::Object(own)) = keys.get_mut(LOOMREC) else { return };
        match names.is_empty() {
            true => drop(own.shift_remove(KEY_VARIABLES)),
            false => drop(own.insert(KEY_VARIABLES.to_owned(), json!(names))),
        }
    }

    /// Returns the rules under which the recording's keys were made.
    pub fn rules(&self) -> &IdentityRules {
        &self.rules
    }

    /// Whether loomrec wrote it. Otherwise another tool or a person did.
    pub fn is_loomrec(&self) -> bool {
        self.loomrec
    }

    /// Returns the top-level `_` keys in order.
    pub fn top_level_keys(&self) -> &Map<String, Value> {
        &self.keys
    }

    /// Makes it metadata of a loomrec recording: sets the rules, and the version if it has none.
    pub fn adopt(&mut self, rules: &IdentityRules) {
        if self.loomrec && self.rules == *rules {
            return;
        }
        self.rules = rules.clone();
        self.loomrec = true;
        let version = self.keys.entry("_version").or_insert(Value::Null);
        if version.is_null() {
            *version = 2.into();
        }
        let fresh = loomrec_json(rules);
        match self.keys.get_mut(LOOMREC) {
            Some(Value::Object(own)) => {
                // Fields of a newer minor version are kept.
                if let Value::Object(fresh) = fresh {
                    own.extend(fresh);
                }
            }
            _ => {
                self.keys.insert(LOOMREC.into(), fresh);
            }
        }
    }
}

fn loomrec_json(rules: &IdentityRules) -> Value {
    let ignore: Vec<String> = rules.ignored_places().iter().map(PlacePattern::to_string).collect();
    let mut identity = json!({ "version": 1, "ignore": ignore });
    for (member, names) in
        [("headers", rules.headers()), ("ignore_headers", rules.ignored_headers())]
    {
        if !names.is_empty() {
            identity[member] = json!(names);
            identity["version"] = VERSION_WITH_HEADERS.into();
        }
    }
    if !rules.normalize_rules().is_empty() {
        identity["normalize"] =
            rules.normalize_rules().iter().map(NormalizeRule::to_string).collect();
    }
    if !rules.redactions().is_empty() {
        identity["redact"] = json!(rules.redactions());
    }
    if !rules.normalize_rules().is_empty()
        || rules.ignored_places().iter().any(PlacePattern::is_extended)
    {
        identity["version"] = VERSION_WITH_PATTERNS.into();
    }
    json!({ "format": "1.0", "identity": identity })
}

/// Reads the names of key variables. Of names that are not known, none counts.
fn read_key_variables(own: FieldReader<'_>) -> Result<KeyVariables, FieldError> {
    let expected = "a list of at most 256 names of variables";
    let names = own.read_list(KEY_VARIABLES, expected)?.unwrap_or_default();
    let texts: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
    let texts = texts.filter(|texts| texts.len() <= RecordingMeta::MOST_RULES);
    let texts = texts.ok_or_else(|| own.wrong_value(KEY_VARIABLES, expected))?;
    Ok(KeyVariables::known_among(texts))
}

/// Checks the version: it is absent, null, or a whole number of at least 2.
fn check_version(fields: FieldReader<'_>) -> Result<(), FormatError> {
    let wrong = |expected, found| unexpected_field("/_version", expected, found);
    let digits = match fields.get("_version") {
        None => return Ok(()),
        Some(Value::Number(number)) => number.as_str(),
        Some(other) => return Err(wrong("the number 2", value_kind(other))),
    };
    if digits.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return Err(wrong("the whole number 2", "a fraction"));
    }
    let old = digits.starts_with('-') || matches!(digits, "0" | "1");
    if old {
        return Err(FormatError::OldVersion { found: digits.to_owned() });
    }
    Ok(())
}

fn read_rules(own: FieldReader<'_>) -> Result<IdentityRules, FormatError> {
    match own.value_or_null("format") {
        None => {}
        Some(Value::String(format)) => check_format(format)?,
        Some(_) => return Err(FormatError::Meta(own.wrong_value("format", "a string"))),
    }
    let Some(identity) = own.read_object("identity", "an object").map_err(FormatError::Meta)?
    else {
        return Ok(IdentityRules::default());
    };
    let identity = FieldReader::new(identity, "/_loomrec/identity", STYLE);
    let version = match identity.value_or_null("version").map(Value::as_u64) {
        None => 1,
        Some(Some(version @ 1..=IDENTITY_VERSION)) => version,
        Some(Some(newer)) if newer > IDENTITY_VERSION => {
            return Err(FormatError::NewerFormat { found: format!("identity version {newer}") });
        }
        Some(_) => {
            return Err(FormatError::Meta(identity.wrong_value("version", "the number 1, 2 or 3")));
        }
    };
    read_exceptions(identity, version).map_err(FormatError::Meta)
}

/// Reads what the rules leave out of keys or add to them.
fn read_exceptions(identity: FieldReader<'_>, version: u64) -> Result<IdentityRules, FieldError> {
    let headers = read_names(identity, "headers", redact::identity_name)?;
    let ignored = read_names(identity, "ignore_headers", redact::ignorable_name)?;
    let ignore = read_ignore(identity, version)?;
    let rules = IdentityRules::new(ignore).with_headers(&headers, &ignored);
    let rules = rules.with_normalize(read_normalize(identity)?);
    Ok(rules.with_redactions(read_redactions(identity)?))
}

/// Reads the patterns of what is redacted.
fn read_redactions(identity: FieldReader<'_>) -> Result<Vec<String>, FieldError> {
    let expected = "a list of at most 256 regular expressions";
    let wrong = |found| FieldError::unexpected(identity.field_place("redact"), expected, found);
    let patterns = identity.read_list("redact", expected)?.unwrap_or_default();
    if patterns.len() > RecordingMeta::MOST_RULES {
        return Err(identity.wrong_value("redact", expected));
    }
    let text = |value: &Value| match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(wrong(value_kind(value).to_owned())),
    };
    let patterns = patterns.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    match redact::check_patterns(&patterns) {
        Ok(()) => Ok(patterns),
        Err(error) => Err(wrong(format!("one that cannot be used: failed to {error}"))),
    }
}

/// Reads the rules for what clients make anew.
fn read_normalize(identity: FieldReader<'_>) -> Result<Vec<NormalizeRule>, FieldError> {
    let expected = "a list of at most 256 rules, such as \"/metadata/user_id: uuid\"";
    let rules = identity.read_list("normalize", expected)?.unwrap_or_default();
    if rules.len() > RecordingMeta::MOST_RULES {
        return Err(identity.wrong_value("normalize", expected));
    }
    let wrong = |found| FieldError::unexpected(identity.field_place("normalize"), expected, found);
    let read = |value: &Value| match value.as_str() {
        Some(text) => Ok(NormalizeRule::of_recording(text)),
        None => Err(wrong(value_kind(value).to_owned())),
    };
    rules.iter().map(read).collect()
}

/// Reads the places that the rules leave out. In the versions without patterns, `*` is a key like
/// any other.
fn read_ignore(identity: FieldReader<'_>, version: u64) -> Result<Vec<PlacePattern>, FieldError> {
    let expected = "a list of JSON pointers";
    let wrong =
        |expected, found| FieldError::unexpected(identity.field_place("ignore"), expected, found);
    let ignore = identity.read_list("ignore", expected)?.unwrap_or_default();
    if ignore.len() > RecordingMeta::MOST_RULES {
        let found = format!("a list of {}", ignore.len());
        return Err(wrong("a list of at most 256 JSON pointers", found));
    }
    let parse = |text: &str| match version {
        ..VERSION_WITH_PATTERNS => JsonPointer::parse(text).map(PlacePattern::from),
        _ => PlacePattern::parse(text),
    };
    let read = |value: &Value| match value.as_str().map(parse) {
        Some(Ok(read)) => Ok(read),
        Some(Err(error)) => Err(wrong(expected, error.to_string())),
        None => Err(wrong(expected, value_kind(value).to_owned())),
    };
    ignore.iter().map(read).collect()
}

/// Reads names of headers in the rules.
fn read_names(
    identity: FieldReader<'_>,
    member: &str,
    read: fn(&str) -> Result<String, &'static str>,
) -> Result<Vec<String>, FieldError> {
    let expected = "a list of at most 256 names of headers";
    let wrong = |found| FieldError::unexpected(identity.field_place(member), expected, found);
    let names = identity.read_list(member, expected)?.unwrap_or_default();
    if names.len() > RecordingMeta::MOST_RULES {
        return Err(identity.wrong_value(member, expected));
    }
    let name = |value: &Value| match value.as_str().map(|name| (name, read(name))) {
        Some((_, Ok(name))) => Ok(name),
        Some((name, Err(why))) => Err(wrong(format!("{name:?}: {why}"))),
        None => Err(wrong(value_kind(value).to_owned())),
    };
    names.iter().map(name).collect()
}

fn check_format(format: &str) -> Result<(), FormatError> {
    let major = format.split('.').next().and_then(|major| major.parse().ok());
    match major {
        Some(major) if major > FORMAT_MAJOR => {
            Err(FormatError::NewerFormat { found: format!("format {format}") })
        }
        Some(FORMAT_MAJOR) => Ok(()),
        _ => Err(unexpected_field("/_loomrec/format", "`1.0`", "another string")),
    }
}

fn unexpected_field(place: &str, expected: &str, found: &str) -> FormatError {
    FormatError::Meta(FieldError::unexpected(place, expected, found))
}
