//! The reader of the entries of one call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::super::entry::ScriptEntry;
use super::super::notation::ScriptError;
use super::failure::read_failure;
use super::field::{STYLE, needed_text, no_text, text};
use loomrec_identity::typed_field::{FieldError, FieldReader, shown_value, value_kind};
use loomrec_provider::TokenUsage;

/// The kinds of entries.
const ENTRIES: [&str; 8] =
    ["text", "tool_call", "tool_call_delta", "usage", "raw_chunk", "finish", "error", "delay"];
const TOOL_CALL: [&str; 3] = ["id", "name", "arguments"];
const DELTA: [&str; 2] = ["id", "arguments_delta"];
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

/// Reads the entries of one call. `place` names the call in errors: `call 2`.
///
/// # Errors
/// What is wrong, with the call and the number of the entry.
pub(in crate::replay::script) fn read_entries(
    list: Vec<Value>,
    place: &str,
) -> Result<Vec<ScriptEntry>, ScriptError> {
    let mut entries = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let read = entry(value, &entries).map_err(|problem| ScriptError {
            place: format!("{place}, entry {}: ", index + 1),
            problem,
        });
        entries.push(read?);
    }
    // Entries after the end are read too, so that a mistake in them is reported.
    if let Some(end) = entries.iter().position(ScriptEntry::is_last) {
        entries.truncate(end + 1);
    }
    Ok(entries)
}

fn entry(value: Value, before: &[ScriptEntry]) -> Result<ScriptEntry, FieldError> {
    let (tag, value) = tagged(value)?;
    let fields = |known: &[&str]| {
        let fields = FieldReader::from_value(&value, tag, "an object", STYLE)?;
        fields.only(tag, known).map(|()| fields)
    };
    match (tag, &value) {
        ("text", Value::String(text)) => Ok(ScriptEntry::Text(text.clone())),
        ("text", other) => Err(no_text(tag, "a string", other)),
        ("finish", Value::String(reason)) => Ok(ScriptEntry::Finish(reason.clone())),
        ("finish", Value::Object(_)) => {
            Ok(ScriptEntry::Finish(needed_text(fields(&["reason"])?, tag, "reason")?))
        }
        ("finish", other) => Err(no_text(tag, "a reason, as a string", other)),
        ("delay", Value::Object(_)) => delay(fields(&["ms"])?.get("ms").unwrap_or(&Value::Null)),
        ("delay", other) => delay(other),
        ("raw_chunk", Value::String(text)) => Ok(ScriptEntry::RawChunk(text.clone().into())),
        ("raw_chunk", Value::Object(_)) => {
            let text = needed_text(fields(&["base64"])?, tag, "base64")?;
            let bytes = STANDARD.decode(text).map_err(|why| {
                FieldError::other("raw_chunk.base64", format!("expected bytes in base64: {why}"))
            })?;
            Ok(ScriptEntry::RawChunk(bytes.into()))
        }
        ("raw_chunk", other) => Err(no_text(tag, "a string, or an object with base64", other)),
        ("error", value) => read_failure(value, tag, 500).map(ScriptEntry::Error),
        ("usage", _) => usage(fields(&COUNTS)?).map(ScriptEntry::Usage),
        ("tool_call", _) => tool_call(fields(&TOOL_CALL)?),
        _ => delta(fields(&DELTA)?, before),
    }
}

/// Returns the tag of an entry, and its value: from `{"text": …}`, from
/// `{"type": "text", "text": …}`, or from the fields beside `type`.
fn tagged(value: Value) -> Result<(&'static str, Value), FieldError> {
    let refuse = |why: String| Err(FieldError::other("", why));
    let all = || format!("an entry is one of {}", ENTRIES.join(", "));
    let mut object = match value {
        Value::Object(object) => object,
        other => {
            return refuse(format!("expected an object, not {}; {}", value_kind(&other), all()));
        }
    };
    let find = |name: &str| {
        let tag = ENTRIES.iter().find(|known| **known == name);
        tag.copied().ok_or_else(|| FieldError::unknown_word("", "entry", name, &ENTRIES))
    };
    let beside = |object: &Map<String, Value>, tag: &str| {
        let other = object.keys().find(|name| *name != tag).map_or("", String::as_str);
        format!("an entry has one tag, here {tag}; move {other:?} into a separate entry")
    };
    let tag = match object.shift_remove("type") {
        Some(Value::String(name)) => find(&name)?,
        Some(other) => {
            let expected = "the name of an entry";
            return Err(FieldError::unexpected("type", expected, shown_value(&other)));
        }
        None if object.is_empty() => return refuse(format!("it is empty; {}", all())),
        None => {
            let tag = find(object.keys().next().map_or("", String::as_str))?;
            if object.len() > 1 {
                return refuse(beside(&object, tag));
            }
            tag
        }
    };
    match object.shift_remove(tag) {
        Some(value) if object.is_empty() => Ok((tag, value)),
        Some(_) => refuse(beside(&object, tag)),
        None => Ok((tag, Value::Object(object))),
    }
}

fn delay(value: &Value) -> Result<ScriptEntry, FieldError> {
    let ms = value.as_f64().filter(|ms| (0.0..=LONGEST).contains(ms));
    let expected = "milliseconds, from 0 to a day";
    let wrong = || FieldError::unexpected("delay", expected, shown_value(value));
    ms.map(ScriptEntry::Delay).ok_or_else(wrong)
}

fn tool_call(fields: FieldReader<'_>) -> Result<ScriptEntry, FieldError> {
    let arguments = match fields.get("arguments") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(_) => return Err(fields.wrong("arguments", "an object, or its text")),
    };
    let id = text(fields, "id")?.unwrap_or_default();
    let name = needed_text(fields, "tool_call", "name")?;
    Ok(ScriptEntry::ToolCall { id, name, arguments })
}

fn delta(fields: FieldReader<'_>, before: &[ScriptEntry]) -> Result<ScriptEntry, FieldError> {
    let of = needed_text(fields, "tool_call_delta", "id")?;
    let is_it =
        |entry: &ScriptEntry| matches!(entry, ScriptEntry::ToolCall { id, .. } if *id == of);
    let Some(call) = before.iter().rposition(is_it) else {
        let why = format!("no tool_call before it has the id {of:?}");
        return Err(FieldError::other("tool_call_delta", why));
    };
    let text = needed_text(fields, "tool_call_delta", "arguments_delta")?;
    Ok(ScriptEntry::ToolCallDelta { call, text })
}

fn usage(fields: FieldReader<'_>) -> Result<TokenUsage, FieldError> {
    let count = |name: &str| fields.digits(name, 0..=u64::MAX, "a count of tokens");
    let either = |name: &str, other: &str| match (count(name)?, count(other)?) {
        (Some(_), Some(_)) => {
            let why = format!("give either {name} or {other}, not both");
            Err(FieldError::other("usage", why))
        }
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
