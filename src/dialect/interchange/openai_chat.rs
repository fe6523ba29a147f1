//! Conversations for training: messages, the last of which is the answer.

use std::io::Read;

use serde_json::{Map, Value, json};

use super::companion::CompanionFiles;
use super::exchange::{ForeignRequest, FoundItem, SkippedItem, TextAnswer, TextExchange};
use super::line::{FileLine, FileLines};
use super::read_context::{ReadContext, ReadProblem};
use super::write::WrittenEntry;
use loomrec_provider::Answer;
use loomrec_provider::conversation::{self, Conversation};
use loomrec_recording::Entry;

/// The address where such a conversation would have taken place.
const URL: &str = "https://api.openai.com/v1/chat/completions";

/// Reads a file of conversations.
pub(super) fn read(
    input: impl Read,
    beside: &CompanionFiles,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    FileLines::visit(input, |line| {
        let place = line.place();
        let item = match read_conversation(line, beside)? {
            Ok(words) => FoundItem::Words(Box::new(words)),
            Err(reason) => FoundItem::Left(SkippedItem::damaged(place, reason)),
        };
        Ok(finder.report_item(item))
    })
}

fn read_conversation(
    line: &FileLine<'_>,
    beside: &CompanionFiles,
) -> Result<Result<TextExchange, &'static str>, ReadProblem> {
    let mut example: Map<String, Value> = line.parse()?;
    let Some(Value::Array(mut messages)) = example.shift_remove("messages") else {
        return Err(line.problem("missing field `messages`, a list"));
    };
    if messages.iter().any(|message| !message.is_object()) {
        return Err(line.problem("a message is not an object"));
    }
    let is_answer = |message: &Value| message.get("role") == Some(&"assistant".into());
    if !messages.last().is_some_and(is_answer) {
        return Ok(Err("its last message is not from the assistant, so it has no answer"));
    }
    let said = messages.pop().unwrap_or_default();
    if messages.is_empty() {
        return Ok(Err("the file does not hold its request: it has no other message"));
    }
    if !is_words(&said) {
        return Ok(Err("its last message holds more than text and tool calls"));
    }
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        // The weight of a message in training is not part of the message.
        message.shift_remove("weight");
    }
    let named = example.shift_remove("model");
    let Some(model) = named.or_else(|| beside.model.as_deref().map(Value::from)) else {
        return Ok(Err("it does not name the model: give it with --model"));
    };
    let answer = Answer {
        content: conversation::message_text(&said).unwrap_or_default(),
        tool_calls: conversation::tool_calls(&said),
        ..Answer::default()
    };
    let mut asked = Map::from_iter([
        ("messages".to_owned(), Value::Array(messages)),
        ("model".to_owned(), model),
    ]);
    asked.extend(example);
    Ok(Ok(TextExchange {
        chaos: None,
        place: line.place(),
        request: ForeignRequest {
            method: "POST".to_owned(),
            url: URL.to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Value::Object(asked).to_string().into(),
            size: None,
        },
        said: TextAnswer::Answer(answer),
        own: None,
        started: None,
        duration_ms: None,
        lost: vec!["other parameters of requests (temperature and the like)", "usage and latency"],
    }))
}

/// Whether a message holds nothing but text and tool calls. The reasoning of a model, and what is
/// only for the training, do not count.
fn is_words(message: &Value) -> bool {
    const KNOWN: [&str; 7] =
        ["role", "content", "tool_calls", "name", "weight", "reasoning", "reasoning_content"];
    let is_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => false,
    };
    let mut members = message.as_object().into_iter().flatten();
    let is_text = |part: &Value| part.get("type").is_some_and(|kind| kind == "text");
    let is_content = match message.get("content") {
        None | Some(Value::Null | Value::String(_)) => true,
        Some(Value::Array(parts)) => parts.iter().all(is_text),
        Some(_) => false,
    };
    let calls = message.get("tool_calls").unwrap_or(&Value::Null);
    is_content
        && (calls.is_null() || calls.is_array())
        && members.all(|(name, value)| KNOWN.contains(&name.as_str()) || is_nothing(value))
}

/// Returns one conversation.
///
/// # Errors
/// If the entry is not a conversation. The error says why.
pub(super) fn write_entry(entry: &Entry, status: u16) -> Result<WrittenEntry, String> {
    let Some((call, body)) = entry.recognise_call().zip(entry.request_body()) else {
        return Err("its request is not recorded".to_owned());
    };
    if !(200..300).contains(&status) {
        return Err(format!("it was answered by an error (status {status})"));
    }
    let Some(Conversation { mut messages, tools, unsupported }) =
        call.operation.read_conversation(body)
    else {
        return Err(format!("{} is not a conversation", call.operation.name()));
    };
    if let Some(unsupported) = unsupported {
        return Err(format!("chat messages have no place for {unsupported}"));
    }
    let content = entry.content.as_deref().unwrap_or_default();
    if content.is_empty() && entry.tool_calls.is_empty() {
        return Err("its answer has neither text nor tool calls".to_owned());
    }
    messages.push(conversation::assistant_message(content, &entry.tool_calls));
    let mut line = Map::from_iter([("messages".to_owned(), Value::Array(messages))]);
    if !tools.is_empty() {
        line.insert("tools".to_owned(), Value::Array(tools));
    }
    let lost = vec![
        "models, and other parameters of requests",
        "all of answers but their text and tool calls",
    ];
    Ok(WrittenEntry { text: format!("{}\n", json!(line)), lost })
}

#[cfg(test)]
#[path = "openai_chat_tests.rs"]
mod tests;
