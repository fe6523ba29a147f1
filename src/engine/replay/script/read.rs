//! The reader of scripts. Its errors say where something is wrong and what was expected.

mod call;
mod failure;
mod field;

use serde_json::{Map, Value};

use super::entry::{RetryPhase, ScriptEntry, ScriptFailure};
use super::notation::{ScriptError, ScriptNotation};
use loomrec_curation::yaml;
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult, value_kind};

use call::read_entries;
use failure::read_failure;
use field::STYLE;

const TOP: [&str; 4] = ["rules", "scripts", "retry_until_call", "retry_error"];
/// The contents of a script's text.
#[derive(Debug)]
pub(super) struct ScriptParts {
    /// The entries of each call.
    pub(super) calls: Vec<Vec<ScriptEntry>>,
    /// The phase in which the first calls fail.
    pub(super) retry: Option<RetryPhase>,
    /// The rules, not yet read. They are tried before the calls.
    pub(super) rules: Vec<Value>,
    /// The text, if it is a fixture file of aimock.
    pub(super) fixtures: Option<Map<String, Value>>,
}

pub(super) fn script(text: &[u8], notation: ScriptNotation) -> Result<ScriptParts, ScriptError> {
    let whole = value(text, notation).map_err(|why| FieldError::other("", why))?;
    let (calls, retry, rules) = match whole {
        Value::Array(calls) => (calls, None, Vec::new()),
        Value::Object(file) if file.contains_key("fixtures") => {
            let (calls, rules) = (Vec::new(), Vec::new());
            return Ok(ScriptParts { calls, retry: None, rules, fixtures: Some(file) });
        }
        whole => {
            let expected = "a list of calls, or an object with scripts or rules";
            let top = FieldReader::from_value(&whole, "", expected, STYLE)?;
            top.only("a script", &TOP)?;
            let retry = retry(top)?;
            let rules = top.list("rules", "a list of rules")?;
            let calls = top.list("scripts", "a list of calls")?;
            if calls.is_none() && (rules.is_none() || retry.is_some()) {
                let needed = "expected scripts: a list of calls, each a list of entries";
                return Err(FieldError::other("", needed).into());
            }
            (calls.unwrap_or_default().to_vec(), retry, rules.unwrap_or_default().to_vec())
        }
    };
    let calls = calls.into_iter().enumerate();
    let calls = calls.map(|(index, one)| entries(&format!("call {}", index + 1), one));
    Ok(ScriptParts { calls: calls.collect::<Result<_, _>>()?, retry, rules, fixtures: None })
}

/// Returns the text as a value. A member that occurs twice is rejected in either notation.
///
/// # Errors
/// The reason why it is not one.
pub fn value(text: &[u8], notation: ScriptNotation) -> Result<Value, String> {
    match notation {
        ScriptNotation::Json => {
            loomrec_identity::parse(text)
                .map_err(|error| format!("not plain JSON: failed to {error}"))?;
            serde_json::from_slice(text).map_err(|error| format!("not JSON: {error}"))
        }
        ScriptNotation::Yaml => yaml::parse(text).map_err(|why| format!("not YAML: {why}")),
    }
}

fn retry(top: FieldReader<'_>) -> FieldResult<RetryPhase> {
    let failure = match top.get("retry_error") {
        Some(error) => read_failure(error, "retry_error", 503)?,
        None => ScriptFailure {
            status: 503,
            kind: None,
            message: "the service is busy for a moment; try again".to_owned(),
        },
    };
    let expected = "the number of the first call that is answered, 1 or more";
    match top.digits("retry_until_call", 1..=u64::MAX, expected)? {
        Some(until) => Ok(Some(RetryPhase { until, failure })),
        None if top.get("retry_error").is_none() => Ok(None),
        None => Err(FieldError::other("", "retry_error needs retry_until_call")),
    }
}

/// Reads the entries of a call or a rule; `place` names it.
///
/// # Errors
/// What is wrong, with the place and the number of the entry.
pub(super) fn entries(place: &str, value: Value) -> Result<Vec<ScriptEntry>, ScriptError> {
    let Value::Array(list) = value else {
        let hint = "a single call is a list in a list";
        let why = format!("expected a list of entries, not {}; {hint}", value_kind(&value));
        return Err(ScriptError {
            place: format!("{place}: "),
            problem: FieldError::other("", why),
        });
    };
    read_entries(list, place)
}

#[cfg(test)]
mod tests;
