//! The reader of the entries of one call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::super::entry::ScriptEntry;
use super::super::failure::FailureReason;
use super::super::notation::ScriptError;
use super::failure::{beside_reason, read_failure, read_named};
use super::field::{STYLE, needed_text, no_text};
use super::response::{read_response, read_usage, tool_call};
use loomrec_identity::typed_field::{FieldError, FieldReader, shown_value, value_kind};

/// The kinds of entries.
const ENTRIES: [&str; 14] = [
    "text",
    "tool_call",
    "tool_call_delta",
    "usage",
    "raw_chunk",
    "finish",
    "error",
    "delay",
    "text_delta",
    "sleep",
    "ok",
    "preflight_error",
    "error_event",
    "stream_error",
];
const DELTA: [&str; 2] = ["id", "arguments_delta"];

/// The longest delay, in milliseconds: a day.
const LONGEST: f64 = 86_400_000.0;

/// Reads the entries of one call. `place` names the call in errors: `call 2`.
///
/// # Errors
/// What is wrong, with the call and the number of the entry.
pub(super) fn read_entries(list: Vec<Value>, place: &str) -> Result<Vec<ScriptEntry>, ScriptError> {
    let (mut entries, mut end) = (Vec::with_capacity(list.len()), None);
    for (index, value) in list.into_iter().enumerate() {
        let is_end = read_entry(value, &mut entries).map_err(|problem| ScriptError {
            place: format!("{place}, entry {}: ", index + 1),
            problem,
        })?;
        if is_end && end.is_none() {
            end = Some(entries.len());
        }
    }
    // Entries after the end are read too, so that a mistake in them is reported.
    entries.truncate(end.unwrap_or(entries.len()));
    Ok(entries)
}

/// Reads an entry behind those before it. Returns whether it ends the answer.
fn read_entry(value: Value, entries: &mut Vec<ScriptEntry>) -> Result<bool, FieldError> {
    let (tag, value) = split_tag(value)?;
    if tag == "ok" {
        entries.extend(read_response(&value)?);
        return Ok(true);
    }
    let read = simple_entry(tag, &value, entries)?;
    let is_last = read.is_last();
    entries.push(read);
    Ok(is_last)
}

/// Reads an entry that is one of its own.
fn simple_entry(
    tag: &'static str,
    value: &Value,
    before: &[ScriptEntry],
) -> Result<ScriptEntry, FieldError> {
    let fields = |known: &[&str]| {
        let fields = FieldReader::from_value(value, tag, "an object", STYLE)?;
        fields.refuse_unknown(tag, known).map(|()| fields)
    };
    match (tag, value) {
        ("text" | "text_delta", Value::String(text)) => Ok(ScriptEntry::Text(text.clone())),
        ("text" | "text_delta", other) => Err(no_text(tag, "a string", other)),
        ("finish", Value::String(reason)) => Ok(ScriptEntry::Finish(reason.clone())),
        ("finish", Value::Object(_)) => {
            Ok(ScriptEntry::Finish(needed_text(fields(&["reason"])?, tag, "reason")?))
        }
        ("finish", other) => Err(no_text(tag, "a reason, as a string", other)),
        ("delay" | "sleep", Value::Object(_)) => {
            read_delay(tag, fields(&["ms"])?.get("ms").unwrap_or(&Value::Null))
        }
        ("delay" | "sleep", other) => read_delay(tag, other),
        ("raw_chunk", Value::String(text)) => Ok(ScriptEntry::RawChunk(text.clone().into())),
        ("raw_chunk", Value::Object(_)) => {
            let text = needed_text(fields(&["base64"])?, tag, "base64")?;
            let bytes = STANDARD.decode(text).map_err(|why| {
                FieldError::from_reason(
                    "raw_chunk.base64",
                    format!("expected bytes in base64: {why}"),
                )
            })?;
            Ok(ScriptEntry::RawChunk(bytes.into()))
        }
        ("raw_chunk", other) => Err(no_text(tag, "a string, or an object with base64", other)),
        ("error", value) => {
            read_failure(value, tag, FailureReason::UNKNOWN).map(ScriptEntry::Error)
        }
        ("preflight_error" | "error_event" | "stream_error", value) => {
            read_named(value, tag).map(ScriptEntry::Error)
        }
        ("usage", value) => read_usage(value, tag).map(ScriptEntry::Usage),
        ("tool_call", value) => tool_call(value, tag),
        _ => read_delta(fields(&DELTA)?, before),
    }
}

/// Returns the tag of an entry, and its value: from `{"text": …}`, from
/// `{"type": "text", "text": …}`, from the fields beside `type`, or from the list `["text", …]`.
fn split_tag(value: Value) -> Result<(&'static str, Value), FieldError> {
    let refuse = |why: String| Err(FieldError::from_reason("", why));
    let all = || format!("an entry is one of {}", ENTRIES.join(", "));
    let mut object = match value {
        Value::Object(object) => object,
        Value::Array(items) => return read_tuple(items),
        other => {
            return refuse(format!("expected an object, not {}; {}", value_kind(&other), all()));
        }
    };
    let beside = |object: &Map<String, Value>, tag: &str| {
        let other = object.keys().find(|name| *name != tag).map_or("", String::as_str);
        format!("an entry has one tag, here {tag}; move {other:?} into a separate entry")
    };
    let tag = match object.shift_remove("type") {
        Some(Value::String(name)) => find_entry_tag(&name)?,
        Some(other) => {
            let expected = "the name of an entry";
            return Err(FieldError::unexpected("type", expected, shown_value(&other)));
        }
        None if object.is_empty() => return refuse(format!("it is empty; {}", all())),
        None => {
            let tag = find_entry_tag(object.keys().next().map_or("", String::as_str))?;
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

fn find_entry_tag(name: &str) -> Result<&'static str, FieldError> {
    let tag = ENTRIES.iter().find(|known| **known == name);
    tag.copied().ok_or_else(|| FieldError::unknown_word("", "entry", name, &ENTRIES))
}

/// Reads an entry that is a list, as Elixir's tuples become in JSON: the tag and its value; for an
/// error that is named by its reason, its fields as well.
fn read_tuple(mut items: Vec<Value>) -> Result<(&'static str, Value), FieldError> {
    let Some(Value::String(name)) = items.first() else {
        let why = "a list is an entry only if it begins with the entry's name: [\"text\", \"Hi\"]";
        return Err(FieldError::from_reason("", why));
    };
    let tag = find_entry_tag(name)?;
    let last = items.pop().unwrap_or_default();
    match items.as_slice() {
        [_] => Ok((tag, last)),
        [_, reason @ Value::String(_)] if tag.contains("error") => {
            let wrong = || FieldError::unexpected(tag, "the error's fields", shown_value(&last));
            beside_reason(reason, &last).ok_or_else(wrong).map(|value| (tag, value))
        }
        _ => Err(FieldError::from_reason(tag, format!("expected [{tag:?}, its value]"))),
    }
}

fn read_delay(tag: &str, value: &Value) -> Result<ScriptEntry, FieldError> {
    let ms = value.as_f64().filter(|ms| (0.0..=LONGEST).contains(ms));
    let expected = "milliseconds, from 0 to a day";
    let wrong = || FieldError::unexpected(tag, expected, shown_value(value));
    ms.map(ScriptEntry::Delay).ok_or_else(wrong)
}

fn read_delta(fields: FieldReader<'_>, before: &[ScriptEntry]) -> Result<ScriptEntry, FieldError> {
    let of = needed_text(fields, "tool_call_delta", "id")?;
    let is_it =
        |entry: &ScriptEntry| matches!(entry, ScriptEntry::ToolCall { id, .. } if *id == of);
    let Some(call) = before.iter().rposition(is_it) else {
        let why = format!("no tool_call before it has the id {of:?}");
        return Err(FieldError::from_reason("tool_call_delta", why));
    };
    let text = needed_text(fields, "tool_call_delta", "arguments_delta")?;
    Ok(ScriptEntry::ToolCallDelta { call, text })
}
