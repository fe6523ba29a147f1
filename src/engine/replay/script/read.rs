//! Reads a script, and says of what is none where and what was expected.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::entry::{RetryPhase, ScriptEntry, ScriptFailure};
use super::notation::{ScriptError, ScriptNotation};
use loomrec_identity::spelling::nearest;
use loomrec_provider::TokenUsage;
use loomrec_recording::yaml;

/// The entries there are.
const ENTRIES: [&str; 8] =
    ["text", "tool_call", "tool_call_delta", "usage", "raw_chunk", "finish", "error", "delay"];
const TOP: [&str; 3] = ["scripts", "retry_until_call", "retry_error"];
const TOOL_CALL: [&str; 3] = ["id", "name", "arguments"];
const DELTA: [&str; 2] = ["id", "arguments_delta"];
const ERROR: [&str; 3] = ["status", "message", "type"];
const COUNTS: [&str; 8] = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "input_tokens",
    "output_tokens",
];

/// The longest delay, in milliseconds: a day.
const LONGEST: f64 = 86_400_000.0;

type Object = Map<String, Value>;

/// What a script's text says.
#[derive(Debug)]
pub(super) struct ScriptParts {
    /// The entries of each call.
    pub(super) calls: Vec<Vec<ScriptEntry>>,
    /// The first calls, all of which fail.
    pub(super) retry: Option<RetryPhase>,
}

pub(super) fn script(text: &[u8], notation: ScriptNotation) -> Result<ScriptParts, ScriptError> {
    let whole = |why: String| ScriptError { place: String::new(), why };
    let (calls, retry) = match value(text, notation).map_err(whole)? {
        Value::Array(calls) => (calls, None),
        Value::Object(mut top) => {
            known(&top, &TOP, "a script").map_err(whole)?;
            let retry = retry(&top).map_err(whole)?;
            match top.shift_remove("scripts") {
                Some(Value::Array(calls)) => (calls, retry),
                Some(other) => {
                    return Err(whole(format!(
                        "scripts: expected a list of calls, not {}",
                        kind(&other)
                    )));
                }
                None => {
                    return Err(whole(
                        "expected scripts: a list of calls, each a list of entries".into(),
                    ));
                }
            }
        }
        other => {
            let expected = "expected a list of calls, or an object with scripts, not";
            return Err(whole(format!("{expected} {}", kind(&other))));
        }
    };
    let calls = calls.into_iter().enumerate().map(|(index, one)| call(index + 1, one));
    Ok(ScriptParts { calls: calls.collect::<Result<_, _>>()?, retry })
}

/// The text as a value; a member that stands twice is refused in either notation.
///
/// # Errors
/// Why it is none.
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

fn retry(top: &Object) -> Result<Option<RetryPhase>, String> {
    let failure = match top.get("retry_error") {
        Some(error) => failure(error, 503).map_err(|why| format!("retry_error: {why}"))?,
        None => ScriptFailure {
            status: 503,
            kind: None,
            message: "the service is busy for a moment; try again".to_owned(),
        },
    };
    let Some(until) = top.get("retry_until_call") else {
        return match top.get("retry_error") {
            Some(_) => Err("retry_error stands without retry_until_call".to_owned()),
            None => Ok(None),
        };
    };
    match until.as_u64().filter(|until| *until > 0) {
        Some(until) => Ok(Some(RetryPhase { until, failure })),
        None => Err(format!(
            "retry_until_call: expected the number of the first call that is answered, \
             1 or more, not {until}"
        )),
    }
}

/// The entries of call `number`.
fn call(number: usize, value: Value) -> Result<Vec<ScriptEntry>, ScriptError> {
    let refuse = |place: String, why: String| ScriptError { place, why };
    let list = match value {
        Value::Array(list) => list,
        other => {
            let hint = "; a single call is a list in a list";
            let why = format!("expected a list of entries, not {}{hint}", kind(&other));
            return Err(refuse(format!("call {number}: "), why));
        }
    };
    let mut entries = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let place = || format!("call {number}, entry {}: ", index + 1);
        entries.push(entry(value, &entries).map_err(|why| refuse(place(), why))?);
    }
    // What stands behind the end is read as well: a mistake there is one, too.
    if let Some(end) = entries.iter().position(ScriptEntry::is_last) {
        entries.truncate(end + 1);
    }
    Ok(entries)
}

fn entry(value: Value, before: &[ScriptEntry]) -> Result<ScriptEntry, String> {
    let (tag, value) = tagged(value)?;
    let expected =
        |what: &str, value: &Value| format!("{tag}: expected {what}, not {}", kind(value));
    match (tag, value) {
        ("text", Value::String(text)) => Ok(ScriptEntry::Text(text)),
        ("text", other) => Err(expected("a string", &other)),
        ("finish", Value::String(reason)) => Ok(ScriptEntry::Finish(reason)),
        ("finish", Value::Object(mut object)) => {
            known(&object, &["reason"], tag)?;
            Ok(ScriptEntry::Finish(string(&mut object, tag, "reason")?))
        }
        ("finish", other) => Err(expected("a reason, as a string", &other)),
        ("delay", Value::Object(object)) => {
            known(&object, &["ms"], tag)?;
            delay(object.get("ms").unwrap_or(&Value::Null))
        }
        ("delay", other) => delay(&other),
        ("raw_chunk", Value::String(text)) => Ok(ScriptEntry::RawChunk(text.into())),
        ("raw_chunk", Value::Object(mut object)) => {
            known(&object, &["base64"], tag)?;
            let text = string(&mut object, tag, "base64")?;
            let bytes = STANDARD
                .decode(text)
                .map_err(|why| format!("raw_chunk.base64: expected bytes in base64: {why}"))?;
            Ok(ScriptEntry::RawChunk(bytes.into()))
        }
        ("raw_chunk", other) => Err(expected("a string, or an object with base64", &other)),
        ("error", value) => {
            failure(&value, 500).map(ScriptEntry::Error).map_err(|why| format!("{tag}: {why}"))
        }
        ("usage", Value::Object(object)) => usage(&object).map(ScriptEntry::Usage),
        ("tool_call", Value::Object(object)) => tool_call(object),
        ("tool_call_delta", Value::Object(object)) => delta(object, before),
        (_, other) => Err(expected("an object", &other)),
    }
}

/// The tag of an entry, and what stands under it: `{"text": …}`, or `{"type": "text",
/// "text": …}`, or the fields of it beside `type`.
fn tagged(value: Value) -> Result<(&'static str, Value), String> {
    let all = || format!("an entry is one of {}", ENTRIES.join(", "));
    let mut object = match value {
        Value::Object(object) => object,
        other => return Err(format!("expected an object, not {}; {}", kind(&other), all())),
    };
    let find = |name: &str| match ENTRIES.iter().find(|known| **known == name) {
        Some(tag) => Ok(*tag),
        None => Err(format!("unknown entry {name:?}{}; {}", hint(name, &ENTRIES), all())),
    };
    let tag = match object.shift_remove("type") {
        Some(Value::String(name)) => find(&name)?,
        Some(other) => {
            return Err(format!("type: expected the name of an entry, not {}", kind(&other)));
        }
        None if object.is_empty() => return Err(format!("it is empty; {}", all())),
        None => {
            let mut tags = object.keys();
            let tag = find(tags.next().map_or("", String::as_str))?;
            if let Some(other) = tags.next() {
                return Err(format!("{other:?} stands beside {tag}: each is an entry of its own"));
            }
            tag
        }
    };
    match object.shift_remove(tag) {
        Some(value) if object.is_empty() => Ok((tag, value)),
        Some(_) => {
            let other = object.keys().next().map_or("", String::as_str);
            Err(format!("{other:?} stands beside {tag}: each is an entry of its own"))
        }
        None => Ok((tag, Value::Object(object))),
    }
}

fn delay(value: &Value) -> Result<ScriptEntry, String> {
    let ms = value.as_f64().filter(|ms| (0.0..=LONGEST).contains(ms));
    let why = || format!("delay: expected milliseconds, from 0 to a day, not {}", told(value));
    ms.map(ScriptEntry::Delay).ok_or_else(why)
}

fn tool_call(mut object: Object) -> Result<ScriptEntry, String> {
    known(&object, &TOOL_CALL, "tool_call")?;
    let arguments = match object.shift_remove("arguments") {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(other) => {
            let what = "expected an object, or its text, not";
            return Err(format!("tool_call.arguments: {what} {}", kind(&other)));
        }
    };
    let id = match object.contains_key("id") {
        true => string(&mut object, "tool_call", "id")?,
        false => String::new(),
    };
    let name = string(&mut object, "tool_call", "name")?;
    Ok(ScriptEntry::ToolCall { id, name, arguments })
}

fn delta(mut object: Object, before: &[ScriptEntry]) -> Result<ScriptEntry, String> {
    known(&object, &DELTA, "tool_call_delta")?;
    let of = string(&mut object, "tool_call_delta", "id")?;
    let is_it =
        |entry: &ScriptEntry| matches!(entry, ScriptEntry::ToolCall { id, .. } if *id == of);
    let Some(call) = before.iter().rposition(is_it) else {
        return Err(format!("tool_call_delta: no tool_call before it has the id {of:?}"));
    };
    Ok(ScriptEntry::ToolCallDelta {
        call,
        text: string(&mut object, "tool_call_delta", "arguments_delta")?,
    })
}

fn usage(object: &Object) -> Result<TokenUsage, String> {
    known(object, &COUNTS, "usage")?;
    let count = |name: &str| match object.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) => Ok(Some(count)),
            None => Err(format!("usage.{name}: expected a count of tokens, not {}", told(value))),
        },
    };
    let either = |name: &str, other: &str| match (count(name)?, count(other)?) {
        (Some(_), Some(_)) => Err(format!("usage: {name} and {other} are two words for one count")),
        (one, another) => Ok(one.or(another).unwrap_or(0)),
    };
    let prompt_tokens = either("prompt_tokens", "input_tokens")?;
    let completion_tokens = either("completion_tokens", "output_tokens")?;
    Ok(TokenUsage {
        prompt_tokens,
        completion_tokens,
        total_tokens: count("total_tokens")?
            .unwrap_or(prompt_tokens.saturating_add(completion_tokens)),
        reasoning_tokens: count("reasoning_tokens")?.unwrap_or(0),
        cached_tokens: count("cached_tokens")?.unwrap_or(0),
        cache_write_tokens: count("cache_write_tokens")?.unwrap_or(0),
    })
}

/// An error: an object, or its message alone.
fn failure(value: &Value, status: u16) -> Result<ScriptFailure, String> {
    let object = match value {
        Value::String(message) => {
            return Ok(ScriptFailure { status, kind: None, message: message.clone() });
        }
        Value::Object(object) => object,
        other => {
            return Err(format!(
                "expected an object with status and message, or a message, not {}",
                kind(other)
            ));
        }
    };
    known(object, &ERROR, "an error")?;
    let text = |name: &str| match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("{name}: expected a string, not {}", kind(other))),
    };
    let status = match object.get("status") {
        None => status,
        Some(value) => {
            let status = value.as_u64().filter(|status| (400..600).contains(status));
            let why =
                || format!("status: expected one of an error, 400 to 599, not {}", told(value));
            status.and_then(|status| u16::try_from(status).ok()).ok_or_else(why)?
        }
    };
    let message = text("message")?.unwrap_or_else(|| "scripted error".to_owned());
    Ok(ScriptFailure { status, kind: text("type")?, message })
}

/// Refuses members that nobody knows.
fn known(object: &Object, names: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(format!("{what} has no {name:?}{}; it has {}", hint(name, names), names.join(", ")))
        }
    }
}

fn string(object: &mut Object, of: &str, name: &str) -> Result<String, String> {
    match object.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("{of}.{name}: expected a string, not {}", kind(&other))),
        None => Err(format!("{of}: it needs {name}")),
    }
}

/// A hint to the name that was meant.
fn hint(name: &str, names: &[&str]) -> String {
    nearest(name, names).map_or_else(String::new, |near| format!(": did you mean {near:?}?"))
}

/// A value in a message: itself where it is short.
fn told(value: &Value) -> impl Display + use<> {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.len() <= 40 => format!("{text:?}"),
        other => kind(other).to_owned(),
    }
}

/// What a value is.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false (a word that is meant as text needs quotes)",
        Value::Number(_) => "a number (one that is meant as text needs quotes)",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
