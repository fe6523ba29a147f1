//! Checks a single entry, from its text.

use std::sync::Arc;

use serde_json::Value;

use super::answer::{self, DecodedBody};
use super::entry_place::EntryPlace;
use super::pointer_place::lines_below;
use super::secret::SecretSearch;
use super::{Problem, ProblemKind, Severity, field, header, response_end};
use loomrec_fault::{ChaosRates, EntryFaultRule};
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_provider::{Operation, RecognisedCall};
use loomrec_recording::encoding::DecodeError;
use loomrec_recording::entry::{CHAOS, EntryReadError};
use loomrec_recording::error::syntax_error;
use loomrec_recording::redact::{CallCredentials, CleanedEntry, RedactError, Redactor};
use loomrec_recording::{Entry, EntryError, EntryName, FormatError, UncheckedReason, format};

/// The most problems that are reported for one entry.
const MOST: usize = 200;

/// The rules and patterns that the entries of a file are checked with.
#[derive(Clone, Debug)]
pub struct EntryChecker {
    /// The rules that the file's keys were made under; `None` if its metadata cannot be understood.
    pub rules: Option<IdentityRules>,
    pub(super) redactor: Arc<Redactor>,
}

impl EntryChecker {
    /// Returns a checker for a file with these rules.
    ///
    /// # Errors
    /// Cannot happen, since the patterns are built in.
    pub fn new(rules: Option<IdentityRules>) -> Result<Self, RedactError> {
        Ok(Self { rules, redactor: Arc::new(Redactor::new(&[])?) })
    }

    /// Returns an entry as `redact` would leave it.
    pub(super) fn redacted_entry(&self, name: &EntryName, entry: &Entry) -> CleanedEntry {
        let rules = self.rules.clone().unwrap_or_default();
        self.redactor.redact_entry(name, entry, &rules)
    }

    /// Returns a key or a pointer without credentials.
    fn shown_name(&self, name: &str) -> String {
        self.redactor.redact_name(name, &CallCredentials::default())
    }

    /// Returns the same checker for a file with other rules.
    pub fn with_rules(&self, rules: Option<IdentityRules>) -> Self {
        Self { rules, redactor: Arc::clone(&self.redactor) }
    }
}

/// The result of checking one entry.
#[derive(Clone, Debug, Default)]
pub struct CheckedEntry {
    /// The problems. Their lines are counted from the entry's first line, from 0.
    pub problems: Vec<Problem>,
    /// Whether it could be read as an entry.
    pub readable: bool,
    /// Whether its text is as loomrec writes it.
    pub spelt: bool,
    /// The names of its values that tell who recorded it, and on which machine.
    pub personal: Vec<&'static str>,
}

/// Checks the entry `unit` of a file, which has this text.
pub fn check_entry(unit: &EntryPlace, text: &[u8], checker: &EntryChecker) -> CheckedEntry {
    let mut found = Vec::new();
    let mut checked = CheckedEntry::default();
    match std::str::from_utf8(text) {
        Err(_) => found.push(shape_problem("the bytes are not UTF-8")),
        Ok(text) => {
            if let Some(entry) = read_entry(text, &mut found) {
                checked.readable = true;
                checked.personal = entry.run_values.personal_names().collect();
                checked.spelt = is_spelt(&entry, text, unit.in_list);
                add_content_problems(&unit.name, &entry, text, checker, &mut found);
            }
            found.truncate(MOST);
            for problem in &mut found {
                let below = problem.line.unwrap_or_else(|| lines_below(text, &problem.pointer));
                problem.line = Some(below);
                // A name may contain the credential that the problem is about.
                problem.pointer = checker.shown_name(&problem.pointer);
                problem.text = checker.shown_name(&problem.text);
            }
        }
    }
    if !found.is_empty() {
        let key = checker.shown_name(&unit.display_label());
        checked.problems = found.into_iter().map(|problem| problem.with_key(key.clone())).collect();
    }
    checked
}

fn shape_problem(text: impl Into<String>) -> Problem {
    Problem::of_file(ProblemKind::Shape, Severity::Error, text)
        .with_remedy("restore the entry, or remove it and record the call again")
}

/// Returns why a text cannot be read as JSON.
pub(super) fn unreadable_reason(text: &[u8], error: &serde_json::Error) -> String {
    let line = text.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1));
    match syntax_error(error).on_line(line.unwrap_or_default()) {
        FormatError::Conflict { .. } => "it has conflict markers of git".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// Reads the entry if the text is one. Adds the problems of its fields.
fn read_entry(text: &str, found: &mut Vec<Problem>) -> Option<Entry> {
    if let Some(entry) = Entry::read_known(text) {
        return Some(entry);
    }
    match Entry::from_text(text.as_bytes()) {
        Ok(entry) => {
            field::add_problems(text, found);
            Some(entry)
        }
        Err(EntryReadError::Json(error)) => {
            let at = error.line().saturating_sub(1);
            found.push(
                shape_problem(unreadable_reason(text.as_bytes(), &error)).with_place("", Some(at)),
            );
            None
        }
        Err(EntryReadError::Entry(_)) => {
            field::add_problems(text, found);
            add_field_problems(text, found);
            None
        }
    }
}

/// Adds every field with the wrong type. After each one, removes it and parses the rest again.
fn add_field_problems(text: &str, found: &mut Vec<Problem>) {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return };
    for _ in 0..MOST {
        let Err(EntryError(error)) = Entry::parse(&value) else { return };
        let problem = shape_problem(format!("it {}", error.problem.requirement()));
        found.push(
            problem.with_place(error.place.clone(), None).with_remedy("fix or remove the entry"),
        );
        if !remove(&mut value, &error.place) {
            return;
        }
    }
}

/// Removes the member at a pointer, or the nearest member around it that may be missing.
fn remove(value: &mut Value, pointer: &str) -> bool {
    let top = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
    let Value::Object(map) = value else { return false };
    let inner = pointer.rsplit_once('/');
    if let Some((outer, name)) = inner.filter(|(outer, _)| !outer.is_empty())
        && let Some(Value::Object(object)) = map.get_mut(top).filter(|_| outer == format!("/{top}"))
        && !matches!(name, "method" | "path" | "status" | "name")
        && object.remove(name).is_some()
    {
        return true;
    }
    map.remove(top).is_some()
}

fn is_spelt(entry: &Entry, text: &str, in_list: bool) -> bool {
    let mut written = Vec::with_capacity(text.len());
    format::write_entry(&mut written, entry, in_list);
    written == text.as_bytes()
}

/// Adds the problems of an entry's content.
fn add_content_problems(
    name: &EntryName,
    entry: &Entry,
    text: &str,
    checker: &EntryChecker,
    found: &mut Vec<Problem>,
) {
    let asked = CheckedRequest::from_entry(entry, checker.rules.as_ref());
    let call = asked.as_ref().map(|asked| &asked.call);
    let key = asked.as_ref().and_then(|asked| asked.key.as_ref());
    let key = key.map(|key| key_of_its_time(name, entry, key, checker));
    let key = key.as_ref();
    hash(name, entry, key, found);
    add_unchecked_problem(name, entry, key, checker.rules.as_ref(), found);
    broken_by_redaction(entry, found);
    let operation = call.map_or(Operation::OTHER, |call| call.operation);
    let body = DecodedBody::from_entry(operation, entry);
    if let Some(why) = body.as_ref().and_then(|body| body.plain.problem) {
        let text = format!("the body {why}");
        let remedy = "record the call again, or remove the entry";
        let severity = match why {
            DecodeError::TooLarge => Severity::Error,
            DecodeError::Cut | DecodeError::Damaged | DecodeError::Unknown => Severity::Warning,
        };
        let problem = Problem::of_file(ProblemKind::Answer, severity, text);
        found.push(problem.with_place("/response", None).with_remedy(remedy));
    }
    let whole = body.as_ref().and_then(DecodedBody::fully_decoded);
    let before = found.len();
    if let Some(call) = call {
        answer::add_problems(entry, call, whole, &checker.redactor, found);
    }
    if found.len() == before {
        answer::check_summary(entry, found);
    }
    answer::check_cost(entry, found);
    response_end::add_problems(entry, call, whole, found);
    header::add_problems(entry, found);
    add_fault_problems(entry, found);
    let cleaned = checker.redacted_entry(name, entry);
    SecretSearch::search_entry(&checker.redactor, entry, body.as_ref(), &cleaned, text, found);
}

/// Adds the problems of an entry's fault and its chaos. Valid ones are reported as notes.
fn add_fault_problems(entry: &Entry, found: &mut Vec<Problem>) {
    let fault = entry.fault.as_ref().map(|value| {
        let rule = EntryFaultRule::from_value(value);
        ("/fault", rule.map(|rule| format!("a fault of the entry: {}", rule.fault.name())))
    });
    let chaos = entry.extra.get(CHAOS).map(|value| {
        ("/chaos", ChaosRates::from_value(value).map(|_| "the entry has rates of chaos".to_owned()))
    });
    found.extend(fault.into_iter().chain(chaos).map(|(place, declared)| match declared {
        Ok(text) => {
            Problem::of_file(ProblemKind::Fault, Severity::Note, text).with_place(place, None)
        }
        Err(error) => {
            let problem =
                Problem::of_file(ProblemKind::Fault, Severity::Error, error.problem.to_string());
            problem
                .with_place(error.under(place).place, None)
                .with_remedy("see docs/faults.md for the faults there are")
        }
    }));
}

/// The call that a recorded request makes, and the request's hash.
pub(super) struct CheckedRequest {
    pub(super) call: RecognisedCall,
    pub(super) key: Option<RequestKey>,
}

impl CheckedRequest {
    /// Recognises an entry's request, if it has one. Its body is parsed once.
    pub(super) fn from_entry(entry: &Entry, rules: Option<&IdentityRules>) -> Option<Self> {
        let request = entry.read_request()?;
        let key = rules.map(|rules| request.compute_key(rules));
        Some(Self { call: request.call, key })
    }
}

/// Returns the key of a request, or the key that the request had when it was recorded if the entry
/// is kept under that key.
pub(super) fn key_of_its_time(
    name: &EntryName,
    entry: &Entry,
    key: &RequestKey,
    checker: &EntryChecker,
) -> RequestKey {
    let under = match name {
        EntryName::Hash(under) => Some(under),
        EntryName::Step(_) => None,
    };
    let Some(said) = under.or(entry.request_hash.as_ref()).filter(|said| *said != key) else {
        return key.clone();
    };
    let rules = checker.rules.as_ref();
    let is_earlier = rules.is_some_and(|rules| entry.earlier_keys(rules).contains(said));
    if is_earlier { said.clone() } else { key.clone() }
}

/// Adds the mismatches of an entry's key, its hash, and the hash of its request.
fn hash(name: &EntryName, entry: &Entry, request: Option<&RequestKey>, found: &mut Vec<Problem>) {
    let under = match name {
        EntryName::Hash(key) => Some(key),
        EntryName::Step(_) => None,
    };
    let said = entry.request_hash.as_ref();
    let error = |kind, text: String| Problem::of_file(kind, Severity::Error, text);
    match (under, said, request) {
        (Some(under), Some(said), Some(real)) if under != said && real == said => {
            let text = format!("its key is not its `request_hash`, {}", said.short_form());
            found.push(
                error(ProblemKind::Key, text)
                    .with_remedy("--fix puts it under its hash")
                    .mark_mendable(),
            );
        }
        (Some(under), Some(said), real) if under != said => {
            let text = "it is not the hash that the entry is kept under".to_owned();
            let problem = error(ProblemKind::Hash, text).with_place("/request_hash", None);
            found.push(match real {
                Some(real) if real == under => {
                    problem.with_remedy("--fix sets it to the hash of the request").mark_mendable()
                }
                _ => problem.with_remedy(CHANGED),
            });
        }
        (under, said, Some(real)) if said.or(under).is_some_and(|said| said != real) => {
            let text =
                format!("the request hashes to {}, not to what the entry says", real.short_form());
            let at = if said.is_some() { "/request_hash" } else { "/request" };
            found.push(error(ProblemKind::Hash, text).with_place(at, None).with_remedy(CHANGED));
        }
        _ => {}
    }
}

/// Adds that an entry answers calls which cannot be checked against its request. If its hashes do
/// not match, [`hash`] has reported it.
fn add_unchecked_problem(
    name: &EntryName,
    entry: &Entry,
    request: Option<&RequestKey>,
    rules: Option<&IdentityRules>,
    found: &mut Vec<Problem>,
) {
    let Some(rules) = rules else { return };
    let why = entry.unchecked_reason(name, request, rules);
    if let Some(
        why @ (UncheckedReason::AnyRequest
        | UncheckedReason::DamagedKey
        | UncheckedReason::NothingLeft
        | UncheckedReason::FaultAnswers),
    ) = why
    {
        let text = format!("the entry {}", why.as_str());
        let problem = Problem::of_file(ProblemKind::Unchecked, Severity::Warning, text);
        found.push(problem.with_remedy(format!(
            "{}; replay --strict refuses it without --allow-unchecked",
            why.remedy()
        )));
    }
}

/// Adds a request that redaction of raw bytes broke: its key was made of a text in which a part of
/// the request is missing.
fn broken_by_redaction(entry: &Entry, found: &mut Vec<Problem>) {
    if entry.is_broken_by_redaction() {
        let text = "its body was broken by redaction, and its key matches other requests too";
        let problem = Problem::of_file(ProblemKind::Hash, Severity::Error, text);
        found.push(problem.with_place("/request", None).with_remedy("record the call again"));
    }
}

/// The remedy for a request that was changed.
const CHANGED: &str = "its request was changed since it was recorded, or the hash was: restore it, \
                       or record the call again; --fix=rehash takes the request as it is";
