//! The reader of a whole answer, and of the parts that it shares with the entries of a call.

use serde_json::Value;

use super::super::entry::ScriptEntry;
use super::field::{STYLE, needed_text, no_text, optional_text, request_id};
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult};
use loomrec_provider::TokenUsage;

const RESPONSE: [&str; 8] = [
    "output_text",
    "text",
    "message",
    "tool_calls",
    "finish_reason",
    "usage",
    "model",
    "request_id",
];
const TOOL_CALL: [&str; 4] = ["id", "name", "arguments", "raw_arguments"];
const COUNTS: [&str; 9] = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
];

/// Reads a whole answer as the entries that say the same.
pub(super) fn read_response(value: &Value) -> Result<Vec<ScriptEntry>, FieldError> {
    let fields = FieldReader::from_value(value, "ok", "an answer, as an object", STYLE)?;
    fields.refuse_unknown("an answer", &RESPONSE)?;
    let mut entries = Vec::new();
    entries.extend(optional_text(fields, "model")?.map(ScriptEntry::Model));
    entries.extend(request_id(fields)?.map(ScriptEntry::RequestId));
    let words = [
        optional_text(fields, "output_text")?,
        optional_text(fields, "text")?,
        read_message(fields)?,
    ];
    entries.extend(words.into_iter().flatten().next().map(ScriptEntry::Text));
    let calls = fields.read_list("tool_calls", "a list of tool calls")?.unwrap_or_default();
    for (index, call) in calls.iter().enumerate() {
        entries.push(tool_call(call, &format!("ok.tool_calls[{index}]"))?);
    }
    if let Some(counts) = fields.get("usage") {
        entries.push(ScriptEntry::Usage(read_usage(counts, "ok.usage")?));
    }
    entries.extend(optional_text(fields, "finish_reason")?.map(ScriptEntry::Finish));
    Ok(entries)
}

/// Reads the text of a message: the message itself, or its content.
fn read_message(fields: FieldReader<'_>) -> FieldResult<String> {
    match fields.get("message") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(message) => {
            let place = fields.field_place("message");
            let expected = "a text, or a message with content";
            let message = FieldReader::from_value(message, &place, expected, STYLE)?;
            message.refuse_unknown("a message", &["role", "content"])?;
            optional_text(message, "content")
        }
    }
}

/// Reads a tool call at `place`. Arguments as text are sent as they are.
pub(super) fn tool_call(value: &Value, place: &str) -> Result<ScriptEntry, FieldError> {
    let fields = FieldReader::from_value(value, place, "an object", STYLE)?;
    fields.refuse_unknown("tool_call", &TOOL_CALL)?;
    let given = match fields.get("arguments") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(_) => return Err(fields.wrong_value("arguments", "an object, or its text")),
    };
    let arguments = match fields.get("raw_arguments") {
        None | Some(Value::Null) => given,
        Some(Value::String(text)) => text.clone(),
        Some(other) => {
            return Err(no_text(&fields.field_place("raw_arguments"), "the text to send", other));
        }
    };
    let id = optional_text(fields, "id")?.unwrap_or_default();
    let name = needed_text(fields, place, "name")?;
    Ok(ScriptEntry::ToolCall { id, name, arguments })
}

/// Reads counts of tokens at `place`.
pub(super) fn read_usage(value: &Value, place: &str) -> Result<TokenUsage, FieldError> {
    let fields = FieldReader::from_value(value, place, "an object", STYLE)?;
    fields.refuse_unknown("usage", &COUNTS)?;
    let count = |name: &str| fields.read_integer(name, 0..=u64::MAX, "a count of tokens");
    let either = |name: &str, other: &str| match (count(name)?, count(other)?) {
        (Some(_), Some(_)) => {
            let why = format!("give either {name} or {other}, not both");
            Err(FieldError::from_reason(place, why))
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
        cached_tokens: either("cached_tokens", "cached_input_tokens")?,
        cache_write_tokens: count("cache_write_tokens")?.unwrap_or(0),
    })
}
