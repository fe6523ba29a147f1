//! Lookup of a take by a key: a step id or the beginning of a hash, with `#N` after it for a
//! further take.

use std::collections::BTreeSet;

use super::contents::{ListedEntry, RecordingContents};
use loomrec_identity::RequestKey;
use loomrec_recording::EntryName;

/// With fewer digits, a hash could be a typing error.
const LEAST_DIGITS: usize = 4;
/// How many similar keys are suggested.
const NEAR: usize = 3;

/// The take that a key means. The take itself may not exist.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    /// The name and its takes.
    pub(crate) named: &'a ListedEntry,
    /// The number of the take, from 1.
    pub(crate) take: usize,
}

/// The takes that a key names: one, or all of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenTakes {
    /// The name.
    pub(crate) name: EntryName,
    /// The number of the take, from 1; `None` for all takes.
    pub(crate) take: Option<usize>,
}

impl ChosenTakes {
    /// Whether this take is one of them.
    pub(crate) fn has_take(&self, name: &EntryName, take: usize) -> bool {
        self.name == *name && self.take.is_none_or(|number| number == take)
    }
}

impl Choice<'_> {
    /// Returns the takes that `key`, which led to this choice, names where it may name several: all
    /// takes of the name, unless the key has a number.
    pub(crate) fn named_takes(&self, key: &str) -> ChosenTakes {
        let number =
            key.rsplit_once('#').is_some_and(|(_, number)| number.parse::<usize>().is_ok());
        let is_whole = match &self.named.name {
            EntryName::Step(id) => id == key,
            EntryName::Hash(_) => !number,
        };
        ChosenTakes { name: self.named.name.clone(), take: (!is_whole).then_some(self.take) }
    }
}

/// Why a key does not mean exactly one name. Keys are in a form that can be typed.
#[derive(Debug, PartialEq)]
pub(crate) enum NoChoice {
    /// The recording has no entries.
    Empty,
    /// No key was given, and there are several names.
    Needed {
        /// All of them.
        keys: Vec<String>,
    },
    /// The key is the beginning of several hashes.
    Ambiguous {
        /// The key, as it was given.
        key: String,
        /// The keys that it may mean.
        keys: Vec<String>,
    },
    /// The key has too few digits for a hash.
    Short {
        /// The key, as it was given.
        key: String,
    },
    /// No name is equal to the key or begins with it.
    Unknown {
        /// The key, as it was given.
        key: String,
        /// Similar names.
        near: Vec<String>,
    },
}

/// Returns the take that `key` means. Without a key, returns the first take of the only name.
///
/// # Errors
/// [`NoChoice`]
pub(crate) fn choose<'a>(
    contents: &'a RecordingContents,
    key: Option<&str>,
) -> Result<Choice<'a>, NoChoice> {
    let Some(key) = key else { return Ok(Choice { named: only_name(contents)?, take: 1 }) };
    // A step id may contain a `#` itself.
    if let Some(named) = exact_name(contents, key) {
        return Ok(Choice { named, take: 1 });
    }
    let (base, take) = split_take(key);
    if base.is_empty() {
        return Ok(Choice { named: only_name(contents)?, take });
    }
    if let Some(named) = exact_name(contents, base) {
        return Ok(Choice { named, take });
    }
    by_digits(contents, key, base, take)
}

/// Looks up a name whose hash begins with these digits: the hash of the name itself, or else of a
/// request under a step id.
fn by_digits<'a>(
    contents: &'a RecordingContents,
    key: &str,
    base: &str,
    take: usize,
) -> Result<Choice<'a>, NoChoice> {
    if contents.is_empty() {
        return Err(NoChoice::Empty);
    }
    let unknown = || NoChoice::Unknown { key: key.to_owned(), near: similar_names(contents, base) };
    let digits = base.to_ascii_lowercase();
    if digits.len() > 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    if digits.len() < LEAST_DIGITS {
        return match similar_names(contents, base).is_empty() {
            true => Err(NoChoice::Short { key: key.to_owned() }),
            false => Err(unknown()),
        };
    }
    let begins = |hash: &RequestKey| hash.as_str().starts_with(&digits);
    let ambiguous = |keys: Vec<String>| NoChoice::Ambiguous { key: key.to_owned(), keys };
    let names: Vec<&ListedEntry> = contents
        .names()
        .filter(|named| matches!(&named.name, EntryName::Hash(hash) if begins(hash)))
        .collect();
    match names.as_slice() {
        [named] => return Ok(Choice { named, take }),
        [] => {}
        // A short form would not distinguish hashes that share these digits.
        _ => {
            return Err(ambiguous(
                names.iter().map(|named| full_hash(&named.name, &digits)).collect(),
            ));
        }
    }
    let steps: Vec<Choice<'_>> =
        contents.takes_with_hash(begins).map(|(named, take)| Choice { named, take }).collect();
    let Some(first) = steps.first().map(|step| &step.named.name) else { return Err(unknown()) };
    if steps.iter().any(|step| step.named.name != *first) {
        let keys = steps.iter().map(|step| step.named.name.take_key(step.take));
        return Err(ambiguous(keys.collect()));
    }
    // Here `#N` counts the takes of this request.
    let near = vec![name_label(first)];
    let chosen = take.checked_sub(1).and_then(|at| steps.into_iter().nth(at));
    chosen.ok_or_else(|| NoChoice::Unknown { key: key.to_owned(), near })
}

/// Returns the only name.
fn only_name(contents: &RecordingContents) -> Result<&ListedEntry, NoChoice> {
    let mut names = contents.names();
    match (names.next(), names.next()) {
        (Some(named), None) => Ok(named),
        (None, _) => Err(NoChoice::Empty),
        (Some(_), Some(_)) => {
            let keys = contents.names().map(|named| name_label(&named.name)).collect();
            Err(NoChoice::Needed { keys })
        }
    }
}

/// Returns the name that is equal to the key.
fn exact_name<'a>(contents: &'a RecordingContents, key: &str) -> Option<&'a ListedEntry> {
    contents.names().find(|named| match &named.name {
        EntryName::Step(id) => id == key,
        EntryName::Hash(hash) => hash.as_str().eq_ignore_ascii_case(key),
    })
}

/// Splits `KEY#N` into KEY and N. Anything else is returned as the key and 1.
fn split_take(key: &str) -> (&str, usize) {
    let split = key.rsplit_once('#').and_then(|(base, number)| {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| (base, number.parse().unwrap_or(usize::MAX)))
    });
    split.unwrap_or((key, 1))
}

/// Returns the text that a person types for a name.
fn name_label(name: &EntryName) -> String {
    match name {
        EntryName::Step(id) => id.clone(),
        EntryName::Hash(hash) => hash.short_form().to_owned(),
    }
}

/// Returns a hash with more digits than `digits`, with which several hashes begin.
fn full_hash(name: &EntryName, digits: &str) -> String {
    if digits.len() < 12 { name_label(name) } else { name.to_string() }
}

/// Returns the names that are most similar to `key`.
fn similar_names(contents: &RecordingContents, key: &str) -> Vec<String> {
    let wanted = key.to_lowercase();
    let mut found = BTreeSet::new();
    for (at, named) in contents.names().enumerate() {
        let label = name_label(&named.name);
        let shape = label.to_lowercase();
        let close = wanted.chars().count().div_ceil(3);
        let distance = edit_distance(&wanted, &shape);
        let alike = distance <= close || (wanted.len() > 2 && shape.contains(&wanted));
        if alike {
            found.insert((distance, at, label));
        }
    }
    found.into_iter().take(NEAR).map(|(_, _, label)| label).collect()
}

/// Returns the edit distance of two texts: the number of characters to insert, delete or change.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, character) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (place, known) in other.iter().enumerate() {
            let changed = diagonal + usize::from(*known != character);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}
