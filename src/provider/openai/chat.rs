//! Reads OpenAI's chat completions, and the legacy completions beside them:
//! complete bodies, and streams merged chunk by chunk.
//!
//! The same merge serves the summary ([`stream`]) and the change of delivery
//! (`delivery`), so both always see the same answer. Dialects are read as they
//! come: Groq's `x_groq.usage`, DeepSeek's and OpenRouter's reasoning fields,
//! Mistral's content parts, xAI's reasoning tokens beside the completion tokens.

mod brief;
mod split;
mod write;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::provider::doc::{Doc, count, items, nested, says, text, text_or_empty};
use crate::provider::framing::sse;
use crate::provider::wire::{Merged, Wire};
use crate::provider::{Answer, ToolCall, Usage, doc};
pub(super) use write::{input_details, usage as written_usage};

pub(in crate::provider) const WIRE: Wire = Wire {
    read: Some(|bytes| doc::whole(bytes, |json| complete(json), complete)),
    read_stream: Some(|_, bytes| stream(bytes)),
    merge: Some(|_, bytes| {
        let merged = merge(bytes)?;
        Some(Merged { body: split::complete(merged.body), ..merged })
    }),
    split: Some(split::stream),
    write: Some(write::write),
};

/// Reads a complete body; `None` where it has no `choices`.
pub(in crate::provider) fn complete<D: Doc>(body: &D) -> Option<Answer> {
    let choices = body.member("choices")?.list()?;
    let first = choices.iter().min_by_key(|choice| count(*choice, "index").unwrap_or(0));
    let mut answer = Answer {
        model: text(body, "model").map(Cow::into_owned),
        usage: usage(body),
        ..Answer::default()
    };
    let Some(choice) = first else {
        return Some(answer);
    };
    answer.finish_reason = text(choice, "finish_reason").map(Cow::into_owned);
    if let Some(legacy) = text(choice, "text") {
        answer.content = legacy.into_owned();
    }
    if let Some(message) = choice.member("message") {
        message_into(message, &mut answer);
    }
    Some(answer)
}

/// Reads a stream, or what arrived of it; `None` where it has no chunk.
fn stream(bytes: &[u8]) -> Option<Answer> {
    brief::read(bytes).unwrap_or_else(|| merged_stream(bytes))
}

/// The same, of the merged chunks.
fn merged_stream(bytes: &[u8]) -> Option<Answer> {
    complete(&Value::Object(merge(bytes)?.body))
}

fn message_into<D: Doc>(message: &D, answer: &mut Answer) {
    if let Some(content) = text(message, "content") {
        answer.content.push_str(&content);
    }
    for part in items(message, "content") {
        if says(part, "type", "text") {
            answer.content.push_str(&text_or_empty(part, "text"));
        }
    }
    for call in items(message, "tool_calls") {
        // A custom tool takes free text as `input` where a function has arguments.
        let function = call.member("function").or_else(|| call.member("custom"));
        let Some(function) = function else { continue };
        let arguments = function.member("arguments").or_else(|| function.member("input"));
        let (id, name) = (text_or_empty(call, "id"), text_or_empty(function, "name"));
        answer.tool_calls.push(ToolCall::from_doc(&id, &name, arguments));
    }
    if let Some(function) = message.member("function_call").filter(|call| call.is_map()) {
        let name = text_or_empty(function, "name");
        answer.tool_calls.push(ToolCall::from_doc("", &name, function.member("arguments")));
    }
}

/// Reads `usage` (Groq: `x_groq.usage`) of a chat, completion or embedding body.
pub(super) fn usage<D: Doc>(body: &D) -> Option<Usage> {
    [body.member("usage"), nested(body, &["x_groq", "usage"])]
        .into_iter()
        .flatten()
        .find(|usage| usage.is_map())
        .map(counts)
}

/// The counts of a `usage` object.
fn counts<D: Doc>(usage: &D) -> Usage {
    let within = |object, name| nested(usage, &[object, name]).and_then(Doc::whole);
    let prompt = count(usage, "prompt_tokens").unwrap_or(0);
    let mut completion = count(usage, "completion_tokens").unwrap_or(0);
    let reasoning = within("completion_tokens_details", "reasoning_tokens").unwrap_or(0);
    let total = count(usage, "total_tokens");
    // xAI counts reasoning beside the completion tokens; its total tells.
    let beside = prompt.saturating_add(completion).saturating_add(reasoning);
    if reasoning > 0 && total == Some(beside) {
        completion = completion.saturating_add(reasoning);
    }
    Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total.unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: reasoning,
        cached_tokens: within("prompt_tokens_details", "cached_tokens")
            .or_else(|| count(usage, "prompt_cache_hit_tokens"))
            .unwrap_or(0),
        cache_write_tokens: within("prompt_tokens_details", "cache_write_tokens").unwrap_or(0),
    }
}

/// One choice while its chunks come in.
#[derive(Default)]
struct Choice {
    fields: Map<String, Value>,
    message: Map<String, Value>,
    calls: BTreeMap<u64, Map<String, Value>>,
}

/// Merges the chunks of a stream; `None` where there is no chunk with `choices`.
fn merge(bytes: &[u8]) -> Option<Merged> {
    let mut merged = Merged { body: Map::new(), ended: false, failed: false };
    let mut choices = BTreeMap::new();
    for event in sse::events(bytes) {
        if event.is_done() {
            merged.ended = true;
        } else if let Some(Value::Object(chunk)) = event.json() {
            merged.failed |= chunk.get("error").is_some_and(|error| !error.is_null());
            take_chunk(chunk, &mut merged.body, &mut choices);
        } else {
            merged.failed |= event.data.is_some();
        }
    }
    merged.body.contains_key("choices").then(|| {
        merged.ended |= !choices.is_empty() && choices.values().all(Choice::finished);
        let list = choices.into_iter().map(|(index, choice)| choice.into_value(index));
        merged.body.insert("choices".to_owned(), list.collect());
        merged
    })
}

fn take_chunk(
    chunk: Map<String, Value>,
    body: &mut Map<String, Value>,
    choices: &mut BTreeMap<u64, Choice>,
) {
    for (name, value) in chunk {
        match (name.as_str(), value) {
            ("choices", Value::Array(list)) => {
                body.entry("choices").or_insert(Value::Null);
                for choice in list {
                    if let Value::Object(fields) = choice {
                        let index = fields.get("index").and_then(Value::as_u64).unwrap_or(0);
                        choices.entry(index).or_default().take(fields);
                    }
                }
            }
            // Padding against traffic analysis: it belongs to the delivery alone.
            ("choices" | "obfuscation", _) => {}
            (_, value) => replace(body, name, value),
        }
    }
}

impl Choice {
    fn finished(&self) -> bool {
        self.fields.get("finish_reason").is_some_and(|reason| !reason.is_null())
    }

    fn take(&mut self, fields: Map<String, Value>) {
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("index", _) => {}
                ("delta" | "message", Value::Object(delta)) => self.take_delta(delta),
                ("text" | "logprobs", value) => {
                    join(self.fields.entry(name).or_insert(Value::Null), value);
                }
                ("delta" | "message", _) => {}
                (_, value) => replace(&mut self.fields, name, value),
            }
        }
    }

    fn take_delta(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            match (name.as_str(), value) {
                ("tool_calls", Value::Array(calls)) => {
                    for call in calls {
                        if let Value::Object(call) = call {
                            self.take_call(call);
                        }
                    }
                }
                ("tool_calls", _) => {}
                ("content", value) => {
                    let slot = self.message.entry(name).or_insert(Value::Null);
                    join_content(slot, value);
                }
                ("role", value) => replace(&mut self.message, name, value),
                (_, value) => join(self.message.entry(name).or_insert(Value::Null), value),
            }
        }
    }

    fn take_call(&mut self, call: Map<String, Value>) {
        let index =
            call.get("index").and_then(Value::as_u64).unwrap_or_else(|| self.place_of(&call));
        let slot = self.calls.entry(index).or_default();
        for (name, value) in call {
            if name != "index" {
                join_member(slot, name, value);
            }
        }
    }

    /// Where a call without an index belongs: a new id opens a new call, no id
    /// continues the last.
    fn place_of(&self, call: &Map<String, Value>) -> u64 {
        let Some((&last, slot)) = self.calls.last_key_value() else {
            return 0;
        };
        let new = call.get("id").is_some_and(|id| !id.is_null() && Some(id) != slot.get("id"));
        last.saturating_add(u64::from(new))
    }

    fn into_value(self, index: u64) -> Value {
        let Self { mut fields, mut message, calls } = self;
        let mut choice = Map::new();
        choice.insert("index".to_owned(), index.into());
        if !fields.contains_key("text") {
            message.entry("role").or_insert_with(|| Value::from("assistant"));
            message.entry("content").or_insert(Value::Null);
            if !calls.is_empty() {
                let calls = calls.into_values().map(Value::Object).collect();
                message.insert("tool_calls".to_owned(), calls);
            }
            choice.insert("message".to_owned(), Value::Object(message));
        }
        let finish = fields.remove("finish_reason").unwrap_or(Value::Null);
        choice.append(&mut fields);
        choice.insert("finish_reason".to_owned(), finish);
        Value::Object(choice)
    }
}

/// Sets a member, unless a value is there and the new one is null.
fn replace(object: &mut Map<String, Value>, name: String, value: Value) {
    if !value.is_null() || !object.contains_key(&name) {
        object.insert(name, value);
    }
}

/// Continues a value with a fragment: text and lists grow, objects do so member
/// by member, anything else is replaced.
fn join(slot: &mut Value, more: Value) {
    match (slot, more) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (Value::Array(list), Value::Array(more)) => list.extend(more),
        (Value::Object(object), Value::Object(more)) => {
            for (name, value) in more {
                join_member(object, name, value);
            }
        }
        (slot, more) => *slot = more,
    }
}

/// Continues a member; a name or an id comes whole, and an empty one says nothing.
fn join_member(object: &mut Map<String, Value>, name: String, value: Value) {
    if matches!(name.as_str(), "id" | "type" | "name" | "index") {
        if value.as_str() != Some("") || !object.contains_key(&name) {
            replace(object, name, value);
        }
    } else {
        join(object.entry(name).or_insert(Value::Null), value);
    }
}

/// Continues a message's content, where Mistral may follow text by parts.
fn join_content(slot: &mut Value, more: Value) {
    let part = |text: &str| serde_json::json!({ "type": "text", "text": text });
    match (&mut *slot, more) {
        (Value::String(text), Value::Array(more)) => {
            let mut parts = vec![];
            if !text.is_empty() {
                parts.push(part(text));
            }
            parts.extend(more);
            *slot = Value::Array(parts);
        }
        (Value::Array(parts), Value::String(more)) => {
            if !more.is_empty() {
                parts.push(part(&more));
            }
        }
        (_, more) => join(slot, more),
    }
}

#[cfg(test)]
mod tests;
