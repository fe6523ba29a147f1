//! The conversion of chat completions between streams and complete answers.

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::openai::chunk::ChunkStream;
use crate::openai::dialect::calls_whole;
use crate::operation::ObjectView;
use crate::operation::ResponseFormat;

/// Turns the body of a merged stream into that of a complete answer.
pub(crate) fn complete_body(mut body: ObjectView) -> ObjectView {
    body.insert("object".to_owned(), "chat.completion".into());
    usage_in_place(&mut body);
    body
}

/// Moves Groq's usage, which a stream has in `x_groq`, to its place in a complete answer.
pub(in crate::openai) fn usage_in_place(body: &mut ObjectView) {
    let beside = body.get_mut("x_groq").and_then(Value::as_object_mut);
    let beside = beside.and_then(|groq| groq.shift_remove("usage"));
    if body.get("usage").is_none_or(Value::is_null) {
        match beside {
            Some(usage) => body.insert("usage".to_owned(), usage),
            None => body.shift_remove("usage"),
        };
    }
    if body.get("x_groq").and_then(Value::as_object).is_some_and(ObjectView::is_empty) {
        body.shift_remove("x_groq");
    }
}

/// The chunks of a complete answer; `None` if it has no `choices`.
pub(crate) fn split_body(
    format: &ResponseFormat<'_>,
    mut body: ObjectView,
) -> Option<Vec<EventFrame>> {
    let Some(Value::Array(choices)) = body.shift_remove("choices") else {
        return None;
    };
    let chunks = ChunkStream::from_body(format, body, "chat.completion.chunk");
    let mut writer = ChunkWriter { chunks, calls_whole: calls_whole(format.upstream) };
    let choices = choices
        .into_iter()
        .enumerate()
        .map(|(place, choice)| SplitChoice::from_value(place, choice));
    let mut choices: Vec<SplitChoice> = choices.collect::<Option<_>>()?;
    // All choices are opened before one of them ends, because otherwise all would seem to have
    // ended.
    for choice in &mut choices {
        writer.open_choice(choice);
    }
    for choice in choices {
        writer.write_choice(choice);
    }
    Some(writer.chunks.into_events())
}

struct ChunkWriter {
    chunks: ChunkStream,
    calls_whole: bool,
}

/// One choice while its chunks are written.
struct SplitChoice {
    index: Value,
    /// Its logprobs, if it has that member; `null` once they are written.
    logprobs: Option<Value>,
    finish: Value,
    message: ObjectView,
    /// The other members that the provider sends with it.
    rest: ObjectView,
}

impl SplitChoice {
    /// A complete choice; `None` if it is not an object.
    fn from_value(place: usize, choice: Value) -> Option<Self> {
        let Value::Object(mut fields) = choice else { return None };
        Some(Self {
            index: fields.shift_remove("index").unwrap_or_else(|| place.into()),
            logprobs: fields.shift_remove("logprobs"),
            finish: fields.shift_remove("finish_reason").unwrap_or(Value::Null),
            message: match fields.shift_remove("message") {
                Some(Value::Object(message)) => message,
                _ => ObjectView::new(),
            },
            rest: fields,
        })
    }

    /// The choice in one chunk.
    fn to_chunk(&self, delta: Value, logprobs: Value, finish: Value) -> ObjectView {
        let mut choice = ObjectView::new();
        choice.insert("index".to_owned(), self.index.clone());
        choice.insert("delta".to_owned(), delta);
        if self.logprobs.is_some() {
            choice.insert("logprobs".to_owned(), logprobs);
        }
        choice.insert("finish_reason".to_owned(), finish);
        choice
    }
}

/// Whether a member of the message comes in separate chunks.
fn in_pieces(name: &str, value: &Value) -> bool {
    match value {
        Value::String(_) => name != "role",
        Value::Array(calls) => name == "tool_calls" && calls.iter().any(Value::is_object),
        Value::Object(_) => name == "function_call",
        _ => false,
    }
}

impl ChunkWriter {
    fn write_delta(&mut self, choice: &SplitChoice, delta: Value, logprobs: Value) {
        self.chunks.push(choice.to_chunk(delta, logprobs, Value::Null));
    }

    /// Writes the role and all members that do not come in pieces; texts are present, but empty.
    fn open_choice(&mut self, choice: &mut SplitChoice) {
        let message = std::mem::take(&mut choice.message);
        let mut opening = ObjectView::new();
        for (name, value) in message {
            if !in_pieces(&name, &value) {
                opening.insert(name, value);
                continue;
            }
            if value.is_string() {
                opening.insert(name.clone(), "".into());
            }
            choice.message.insert(name, value);
        }
        self.write_delta(choice, Value::Object(opening), Value::Null);
    }

    /// Writes the texts, then the calls, then the end.
    fn write_choice(&mut self, mut choice: SplitChoice) {
        let message = std::mem::take(&mut choice.message);
        let (mut texts, mut calls, mut function) = (vec![], vec![], None);
        for (name, value) in message {
            match value {
                Value::String(text) => texts.push((name, text)),
                Value::Array(list) => calls = list,
                value => function = Some(value),
            }
        }
        // Reasoning comes before the content.
        texts.sort_by_key(|(name, _)| !name.starts_with("reasoning"));
        for (name, text) in texts {
            self.write_text(&mut choice, &name, &text);
        }
        if let Some(function) = function {
            self.write_function_call(&choice, function);
        }
        calls.retain(Value::is_object);
        let calls = calls.into_iter().enumerate();
        let mut last = json!({});
        if !self.calls_whole {
            calls.for_each(|(place, call)| self.write_call(&choice, place, call));
        } else if calls.len() > 0 {
            last["tool_calls"] = calls.map(|(place, call)| indexed_call(place, call)).collect();
        }
        let logprobs = choice.logprobs.clone().unwrap_or(Value::Null);
        let finish = std::mem::take(&mut choice.finish);
        let mut last = choice.to_chunk(last, logprobs, finish);
        last.append(&mut choice.rest);
        self.chunks.push(last);
    }

    /// Writes a legacy function call.
    fn write_function_call(&mut self, choice: &SplitChoice, mut function: Value) {
        let arguments = take_text(&mut function, "arguments");
        self.write_delta(choice, json!({ "function_call": function }), Value::Null);
        if let Some(arguments) = arguments {
            let delta = json!({ "function_call": { "arguments": arguments } });
            self.write_delta(choice, delta, Value::Null);
        }
    }

    fn write_text(&mut self, choice: &mut SplitChoice, name: &str, text: &str) {
        let tokens = choice.logprobs.as_ref().and_then(|told| content_tokens(name, text, told));
        let Some(tokens) = tokens else {
            for piece in text_pieces(text) {
                self.write_delta(choice, json!({ name: piece }), Value::Null);
            }
            return;
        };
        choice.logprobs = Some(Value::Null);
        for token in tokens {
            let piece = json!({ name: token["token"] });
            let told = json!({ "content": [token], "refusal": null });
            self.write_delta(choice, piece, told);
        }
    }

    /// Writes a call's id and name, then its arguments (a custom tool's input).
    fn write_call(&mut self, choice: &SplitChoice, place: usize, call: Value) {
        let mut opening = indexed_call(place, call);
        let mut rest = None;
        for (kind, slot) in [("function", "arguments"), ("custom", "input")] {
            if let Some(function) = opening.get_mut(kind)
                && let Some(text) = take_text(function, slot)
            {
                rest = Some(json!({ "index": place, kind: { slot: text } }));
            }
        }
        self.write_delta(choice, json!({ "tool_calls": [opening] }), Value::Null);
        if let Some(rest) = rest {
            self.write_delta(choice, json!({ "tool_calls": [rest] }), Value::Null);
        }
    }
}

/// A call with its index among the calls, which only a stream has.
fn indexed_call(place: usize, call: Value) -> Value {
    let mut opening = ObjectView::new();
    opening.insert("index".to_owned(), place.into());
    if let Value::Object(call) = call {
        opening.extend(call);
    }
    opening.insert("index".to_owned(), place.into());
    Value::Object(opening)
}

/// Takes the text of a member, and leaves an empty string.
fn take_text(object: &mut Value, name: &str) -> Option<String> {
    match object.get_mut(name) {
        Some(Value::String(text)) => Some(std::mem::take(text)),
        _ => None,
    }
}

/// The content's tokens with their logprobs, if together they spell the content.
fn content_tokens(name: &str, text: &str, logprobs: &Value) -> Option<Vec<Value>> {
    let refused = logprobs.get("refusal").is_some_and(|told| !told.is_null());
    let known = |name: &String| name == "content" || name == "refusal";
    if name != "content" || refused || !logprobs.as_object()?.keys().all(known) {
        return None;
    }
    let tokens = logprobs.get("content")?.as_array()?;
    let mut left = text;
    for token in tokens {
        left = left.strip_prefix(token.get("token")?.as_str()?)?;
    }
    left.is_empty().then(|| tokens.clone())
}
