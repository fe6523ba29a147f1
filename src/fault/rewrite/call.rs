//! Answers whose first tool call is broken.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::NotApplicable;
use crate::broken_json::cut_text;
use crate::event::with_data;
use crate::{ToolFault, ToolReplacement};
use loomrec_provider::framing::events;
use loomrec_provider::{AnswerShape, Framing};

/// The mark that stands for invalid arguments in a stream, and the text that replaces it.
#[derive(Debug)]
pub(super) struct MarkedArguments {
    mark: String,
    text: String,
}

/// Breaks the first tool call of a complete answer.
///
/// Arguments that are a JSON object cannot be cut short within the answer, so the cut text replaces
/// them as a string. Some providers stream such an object as text in pieces, and there the text
/// itself can be cut: a mark stands for it until the stream is split.
pub(super) fn break_call(
    mode: ToolFault,
    shape: &AnswerShape,
    streamed: bool,
    body: &mut Value,
) -> Result<Option<MarkedArguments>, NotApplicable> {
    let whole = body.to_string();
    let call = shape.first_call(body).ok_or(NotApplicable::NoToolCall)?;
    let name = call.object.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if mode == ToolFault::UnknownTool {
        call.object.insert("name".to_owned(), format!("{name}_unknown").into());
        return Ok(None);
    }
    let arguments = call.object.get(call.arguments).cloned().unwrap_or(json!({}));
    let text = match &arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if mode == ToolFault::InvalidJson {
        let text = cut_text(&text);
        if streamed && shape.arguments_in_pieces() {
            let (number, mark) = unused_mark(&whole);
            call.object.insert(call.arguments.to_owned(), json!({ "~": number }));
            return Ok(Some(MarkedArguments { mark, text }));
        }
        call.object.insert(call.arguments.to_owned(), text.into());
        return Ok(None);
    }
    let no_argument = NotApplicable::NoArgument { name };
    let Ok(Value::Object(mut object)) = serde_json::from_str(&text) else {
        return Err(no_argument);
    };
    let first = object.keys().next().cloned().ok_or(no_argument)?;
    if mode == ToolFault::MissingArgument {
        object.shift_remove(&first);
    } else if let Some(value) = object.get_mut(&first) {
        *value = of_another_type(value.take());
    }
    let changed = Value::Object(object);
    let changed = if arguments.is_string() { changed.to_string().into() } else { changed };
    call.object.insert(call.arguments.to_owned(), changed);
    Ok(None)
}

/// Has the first tool call of a complete answer ask for something else.
pub(super) fn replace_call(
    replacement: &ToolReplacement,
    shape: &AnswerShape,
    body: &mut Value,
) -> Result<(), NotApplicable> {
    let call = shape.first_call(body).ok_or(NotApplicable::NoToolCall)?;
    if let Some(name) = &replacement.name {
        call.object.insert("name".to_owned(), name.as_str().into());
    }
    if let Some(arguments) = &replacement.arguments {
        let arguments = Value::Object(arguments.clone());
        let is_text = call.object.get(call.arguments).is_some_and(Value::is_string);
        let arguments = if is_text { arguments.to_string().into() } else { arguments };
        call.object.insert(call.arguments.to_owned(), arguments);
    }
    Ok(())
}

/// Returns a value of another type that no lenient reader converts back.
pub(super) fn of_another_type(value: Value) -> Value {
    match value {
        Value::Array(_) => value.to_string().into(),
        other => json!([other]),
    }
}

/// Returns a mark that does not occur in the answer. It is short and has no blanks, so that it is
/// not split.
fn unused_mark(whole: &str) -> (u64, String) {
    let marks = (0..).map(|number: u64| (number, json!({ "~": number }).to_string()));
    let mut free = marks.filter(|(_, mark)| {
        !whole.contains(mark.as_str()) && !whole.contains(&mark.replace('"', "\\\""))
    });
    free.next().unwrap_or_default()
}

/// Replaces the mark in the events of a stream with the text.
pub(super) fn replace_marks(
    framing: Framing,
    chunks: Vec<Vec<u8>>,
    marked: &MarkedArguments,
) -> Vec<Vec<u8>> {
    chunks
        .into_iter()
        .map(|chunk| unmarked_event(framing, &chunk, marked).unwrap_or(chunk))
        .collect()
}

/// Returns the event rewritten, if the mark is in it.
fn unmarked_event(framing: Framing, chunk: &[u8], marked: &MarkedArguments) -> Option<Vec<u8>> {
    let event = events(framing, chunk).find(|event| event.data.is_some())?;
    let mut data = event.json_data()?;
    let inner = data
        .get("bytes")
        .and_then(Value::as_str)
        .and_then(|bytes| serde_json::from_slice::<Value>(&STANDARD.decode(bytes).ok()?).ok());
    match inner {
        Some(mut inner) => {
            if !replace_mark(&mut inner, marked) {
                return None;
            }
            data["bytes"] = STANDARD.encode(inner.to_string()).into();
        }
        None if !replace_mark(&mut data, marked) => return None,
        None => {}
    }
    let data = data.to_string();
    Some(with_data(framing, chunk, &data, false))
}

/// Replaces the mark with the text. Returns whether the mark was there.
fn replace_mark(value: &mut Value, marked: &MarkedArguments) -> bool {
    match value {
        Value::String(text) if *text == marked.mark => {
            *text = marked.text.clone();
            true
        }
        Value::Array(list) => list.iter_mut().any(|value| replace_mark(value, marked)),
        Value::Object(map) => map.values_mut().any(|value| replace_mark(value, marked)),
        _ => false,
    }
}
