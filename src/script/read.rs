//! The reader of scripts. Its errors say where something is wrong and what was expected.

mod call;
mod failure;
mod field;
mod response;

use serde_json::{Map, Value};

use super::entry::{RetryPhase, ScriptEntry};
use super::failure::{FailureReason, ScriptFailure};
use super::notation::{ScriptError, ScriptNotation};
use loomrec_dialect::yaml;
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult, value_kind};

use call::read_entries;
use failure::read_failure;
use field::STYLE;

const TOP: [&str; 8] = [
    "rules",
    "script",
    "scripts",
    "stream_script",
    "usage",
    "request_id",
    "retry_until_call",
    "retry_error",
];

/// The entries of each of several calls.
type CallEntries = Vec<Vec<ScriptEntry>>;

/// The contents of a script's text.
#[derive(Debug, Default)]
pub(super) struct ScriptParts {
    /// The entries of each call: first those of `scripts`, then those of `stream_script`.
    pub(super) calls: CallEntries,
    /// The index of the first call that is for streams alone; `None` if all are for both.
    pub(super) streams_from: Option<usize>,
    /// The phase in which the first calls fail.
    pub(super) retry: Option<RetryPhase>,
    /// The rules, not yet read. They are tried before the calls.
    pub(super) rules: Vec<Value>,
    /// The text, if it is a fixture file.
    pub(super) fixtures: Option<Map<String, Value>>,
}

pub(super) fn parse_script(
    text: &[u8],
    notation: ScriptNotation,
) -> Result<ScriptParts, ScriptError> {
    let whole = match parse_value(text, notation).map_err(|why| FieldError::from_reason("", why))? {
        Value::Array(list) => {
            let calls = read_calls(&list, "call")?;
            return Ok(ScriptParts { calls, ..ScriptParts::default() });
        }
        Value::Object(file) if file.contains_key("fixtures") => {
            return Ok(ScriptParts { fixtures: Some(file), ..ScriptParts::default() });
        }
        whole => whole,
    };
    let expected = "a list of calls, or an object with scripts or rules";
    let top = FieldReader::from_value(&whole, "", expected, STYLE)?;
    top.refuse_unknown("a script", &TOP)?;
    let retry = read_retry(top)?;
    let (complete, streamed) = (read_complete_calls(top)?, read_stream_calls(top)?);
    let rules = top.read_list("rules", "a list of rules")?;
    if complete.is_none() && streamed.is_none() && (rules.is_none() || retry.is_some()) {
        let needed = "expected scripts: a list of calls, each a list of entries; or script: one \
                      such list; or stream_script";
        return Err(FieldError::from_reason("", needed).into());
    }
    let mut calls = complete.unwrap_or_default();
    let streams_from = streamed.is_some().then_some(calls.len());
    calls.extend(streamed.unwrap_or_default());
    tell_each(top, &mut calls)?;
    let rules = rules.unwrap_or_default().to_vec();
    Ok(ScriptParts { calls, streams_from, retry, rules, fixtures: None })
}

/// Reads the calls that answer complete calls and, unless there are others for them, streams.
fn read_complete_calls(top: FieldReader<'_>) -> Result<Option<CallEntries>, ScriptError> {
    let one = top.read_list("script", "a list of entries")?;
    let several = top.read_list("scripts", "a list of calls")?;
    match (one, several) {
        (Some(_), Some(_)) => {
            let why = "give either script, one call, or scripts, a list of calls";
            Err(FieldError::from_reason("", why).into())
        }
        (Some(entries), None) => Ok(Some(vec![read_entries(entries.to_vec(), "script")?])),
        (None, Some(list)) => read_calls(list, "call").map(Some),
        (None, None) => Ok(None),
    }
}

/// Reads the calls that answer streams alone: a list of calls, or the entries of one.
fn read_stream_calls(top: FieldReader<'_>) -> Result<Option<CallEntries>, ScriptError> {
    let Some(list) = top.read_list("stream_script", "a list of calls, or of entries")? else {
        return Ok(None);
    };
    let is_call = |item: &Value| matches!(item, Value::Array(items) if !is_tuple(items));
    match !list.is_empty() && list.iter().all(is_call) {
        true => read_calls(list, "stream_script, call").map(Some),
        false => Ok(Some(vec![read_entries(list.to_vec(), "stream_script")?])),
    }
}

/// Whether a list is an entry, not a list of entries.
fn is_tuple(items: &[Value]) -> bool {
    items.first().is_some_and(Value::is_string)
}

/// Adds what the script says of every answer: the tokens, and the id of the request.
fn tell_each(top: FieldReader<'_>, calls: &mut CallEntries) -> Result<(), FieldError> {
    let counts =
        top.get("usage").map(|counts| response::read_usage(counts, "usage")).transpose()?;
    let facts = counts.map(ScriptEntry::Usage).into_iter();
    let facts = facts.chain(field::request_id(top)?.map(ScriptEntry::RequestId));
    for fact in facts {
        let kind = std::mem::discriminant(&fact);
        for entries in calls.iter_mut() {
            let own = entries.iter_mut().filter(|entry| std::mem::discriminant(*entry) == kind);
            own.for_each(|entry| *entry = fact.clone());
            // In front of the last entry, which may end the answer. Nothing refers to that one.
            entries.insert(entries.len().saturating_sub(1), fact.clone());
        }
    }
    Ok(())
}

/// Returns the text as a value. A member that occurs twice is rejected in either notation.
///
/// # Errors
/// The reason why it is not one.
pub fn parse_value(text: &[u8], notation: ScriptNotation) -> Result<Value, String> {
    match notation {
        ScriptNotation::Json => {
            loomrec_identity::parse(text)
                .map_err(|error| format!("not plain JSON: failed to {error}"))?;
            serde_json::from_slice(text).map_err(|error| format!("not JSON: {error}"))
        }
        ScriptNotation::Yaml => yaml::parse(text).map_err(|why| format!("not YAML: {why}")),
    }
}

fn read_retry(top: FieldReader<'_>) -> FieldResult<RetryPhase> {
    let failure = match top.get("retry_error") {
        Some(error) => read_failure(error, "retry_error", FailureReason::UNAVAILABLE)?,
        None => ScriptFailure {
            message: Some("the service is busy for a moment; try again".to_owned()),
            ..ScriptFailure::new(FailureReason::UNAVAILABLE)
        },
    };
    let expected = "the number of the first call that is answered, 1 or more";
    match top.read_integer("retry_until_call", 1..=u64::MAX, expected)? {
        Some(until) => Ok(Some(RetryPhase { until, failure })),
        None if top.get("retry_error").is_none() => Ok(None),
        None => Err(FieldError::from_reason("", "retry_error needs retry_until_call")),
    }
}

/// Reads calls. `what` names one in errors, before its number.
fn read_calls(list: &[Value], what: &str) -> Result<CallEntries, ScriptError> {
    let call = |(index, value): (usize, &Value)| {
        read_call_entries(&format!("{what} {}", index + 1), value.clone())
    };
    list.iter().enumerate().map(call).collect()
}

/// Reads the entries of a call; `of` names it in errors.
pub(super) fn read_call_entries(of: &str, value: Value) -> Result<Vec<ScriptEntry>, ScriptError> {
    match value {
        Value::Array(list) => read_entries(list, of),
        other => {
            let hint = "a single call is a list in a list, or stands under script";
            let why = format!("expected a list of entries, not {}; {hint}", value_kind(&other));
            let problem = FieldError::from_reason("", why);
            Err(ScriptError { place: format!("{of}: "), problem })
        }
    }
}

#[cfg(test)]
mod tests;
