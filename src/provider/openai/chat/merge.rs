//! The merging of a stream's chunks, for chat completions and the legacy ones.
//!
//! Gateways repeat content in a chunk: beside the `delta`, Perplexity sends all text so far as
//! `message`, and Together the new text as `text`. Only the delta counts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::framing::{Framing, events};
use crate::operation::MergedStream;

/// One choice while its chunks arrive.
#[derive(Default)]
struct MergedChoice {
    fields: Map<String, Value>,
    message: Map<String, Value>,
    /// The last message beside a delta: everything so far, as Perplexity repeats it.
    so_far: Map<String, Value>,
    /// The calls, by their index and their number among those of this index.
    calls: BTreeMap<(u64, usize), Map<String, Value>>,
}

/// Merges the chunks of a stream; `None` if there is no chunk with `choices`.
pub(crate) fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    merge_chunks(bytes, |_| {})
}

/// Merges chunks after `edit`, because the chunks of a dialect may repeat earlier content.
pub(in crate::openai) fn merge_chunks(
    bytes: &[u8],
    edit: fn(&mut Map<String, Value>),
) -> Option<MergedStream> {
    let mut merged = MergedStream { body: Map::new(), ended: false, failed: false };
    let mut choices = BTreeMap::new();
    for event in events(Framing::Sse, bytes) {
        if event.is_done() {
            merged.ended = true;
        } else if let Some(Value::Object(mut chunk)) = event.json_data() {
            edit(&mut chunk);
            merged.failed |= event.name == Some("error") || is_error(&chunk);
            take_chunk(chunk, &mut merged.body, &mut choices);
        } else {
            merged.failed |= event.data.is_some();
        }
    }
    merged.body.contains_key("choices").then(|| {
        merged.failed |= choices.values().any(MergedChoice::has_failed);
        // The end marker alone proves nothing: servers also send it after an answer that broke off.
        if !choices.is_empty() {
            merged.ended = choices.values().all(MergedChoice::is_finished);
        }
        let list = choices.into_iter().map(|(index, choice)| choice.into_value(index));
        merged.body.insert("choices".to_owned(), list.collect());
        merged
    })
}

/// Whether a chunk is an error: OpenAI's shape, or Mistral's.
fn is_error(chunk: &Map<String, Value>) -> bool {
    let told = |name| chunk.get(name).is_some_and(|error: &Value| !error.is_null());
    told("error") || chunk.get("object").is_some_and(|object| object == "error")
}

fn take_chunk(
    chunk: Map<String, Value>,
    body: &mut Map<String, Value>,
    choices: &mut BTreeMap<u64, MergedChoice>,
) {
    for (name, value) in chunk {
        match (name.as_str(), value) {
            ("choices", Value::Array(list)) => {
                body.entry("choices").or_insert(Value::Null);
                for choice in list {
                    if let Value::Object(fields) = choice {
                        let index = fields.get("index").and_then(Value::as_u64).unwrap_or(0);
                        choices.entry(index).or_default().take_fields(fields);
                    }
                }
            }
            // Padding against traffic analysis, which only belongs to the delivery.
            ("choices" | "obfuscation", _) => {}
            (_, value) => set_member(body, name, value),
        }
    }
}

impl MergedChoice {
    fn is_finished(&self) -> bool {
        self.fields.get("finish_reason").is_some_and(|reason| !reason.is_null())
    }

    /// OpenRouter ends a choice with this reason if its model failed on the way, and names the
    /// error.
    fn has_failed(&self) -> bool {
        self.fields.get("finish_reason").is_some_and(|reason| reason == "error")
            || self.fields.get("error").is_some_and(|error| !error.is_null())
    }

    /// Takes the fields of a choice. With a delta, its message and its text only repeat content.
    fn take_fields(&mut self, fields: Map<String, Value>) {
        let has_delta = fields.get("delta").is_some_and(Value::is_object);
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("index", _) => {}
                ("message", Value::Object(message)) if has_delta => self.so_far = message,
                ("text", _) if has_delta => {}
                ("delta" | "message", Value::Object(delta)) => self.take_delta(delta),
                ("text" | "logprobs", value) => {
                    join_value(self.fields.entry(name).or_insert(Value::Null), value);
                }
                ("delta" | "message", _) => {}
                // Azure's last chunk has empty filter results, which do not replace the earlier
                // ones.
                ("content_filter_results", Value::Object(told)) if told.is_empty() => {
                    self.fields.entry(name).or_insert(Value::Object(told));
                }
                (_, value) => set_member(&mut self.fields, name, value),
            }
        }
    }

    fn take_delta(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            match (name.as_str(), value) {
                ("tool_calls", Value::Array(calls)) => {
                    // An empty list says that there are no calls, and is kept.
                    if calls.is_empty() {
                        self.message.insert(name, Value::Array(calls));
                        continue;
                    }
                    for call in calls {
                        if let Value::Object(call) = call {
                            self.take_call(call);
                        }
                    }
                }
                ("content", value) => {
                    let slot = self.message.entry(name).or_insert(Value::Null);
                    join_content(slot, value);
                }
                ("reasoning_details", Value::Array(more)) => {
                    join_details(self.message.entry(name).or_insert(Value::Null), more);
                }
                ("role" | "tool_calls", value) => set_member(&mut self.message, name, value),
                (_, value) => join_value(self.message.entry(name).or_insert(Value::Null), value),
            }
        }
    }

    fn take_call(&mut self, call: Map<String, Value>) {
        let index = call.get("index").and_then(Value::as_u64);
        let place = match index {
            Some(index) => self.place_under(index, &call),
            None => (self.index_of(&call), 0),
        };
        let slot = self.calls.entry(place).or_default();
        for (name, value) in call {
            if name != "index" {
                join_member(slot, name, value);
            }
        }
    }

    /// The place of a call with this index. Gateways send parallel calls under one index: another id
    /// with a name begins another call, and one without an id continues the last.
    fn place_under(&self, index: u64, call: &Map<String, Value>) -> (u64, usize) {
        let mut known = self.calls.range((index, 0)..=(index, usize::MAX));
        let Some((&last, slot)) = known.next_back() else { return (index, 0) };
        let Some(id) = nonempty_text(call.get("id")) else { return last };
        if nonempty_text(slot.get("id")).is_none_or(|known| known == id) {
            return last;
        }
        if let Some((&place, _)) = known.find(|(_, slot)| nonempty_text(slot.get("id")) == Some(id))
        {
            return place;
        }
        let called = ["function", "custom"].iter().filter_map(|kind| call.get(*kind)?.get("name"));
        let has_name = called.filter_map(|name| nonempty_text(Some(name))).next().is_some();
        (index, last.1 + usize::from(has_name))
    }

    /// The index for a call without one: a new id opens a new call, no id continues the last.
    fn index_of(&self, call: &Map<String, Value>) -> u64 {
        let Some((&(last, _), slot)) = self.calls.last_key_value() else {
            return 0;
        };
        let new = call.get("id").is_some_and(|id| !id.is_null() && Some(id) != slot.get("id"));
        last.saturating_add(u64::from(new))
    }

    fn into_value(self, index: u64) -> Value {
        let Self { mut fields, mut message, so_far, calls } = self;
        let mut choice = Map::new();
        choice.insert("index".to_owned(), index.into());
        let is_silent = |content: &Value| content.is_null() || content == "";
        if message.get("content").is_none_or(is_silent) && calls.is_empty() {
            // Its deltas said nothing.
            so_far.into_iter().for_each(|(name, value)| set_member(&mut message, name, value));
        }
        let is_legacy = message.is_empty() && calls.is_empty();
        if !is_legacy {
            fields.shift_remove("text");
        }
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

/// The text of a string that is not empty.
fn nonempty_text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

/// Sets a member, unless it exists and the new value is null.
fn set_member(object: &mut Map<String, Value>, name: String, value: Value) {
    if !value.is_null() || !object.contains_key(&name) {
        object.insert(name, value);
    }
}

/// Adds a fragment to a value: text and lists grow, objects grow member by member, anything else is
/// replaced.
fn join_value(slot: &mut Value, more: Value) {
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

/// Adds a fragment to a member. Names and ids come whole, and empty ones are ignored.
fn join_member(object: &mut Map<String, Value>, name: String, value: Value) {
    if matches!(name.as_str(), "id" | "type" | "name" | "index") {
        if value.as_str() != Some("") || !object.contains_key(&name) {
            set_member(object, name, value);
        }
    } else {
        join_value(object.entry(name).or_insert(Value::Null), value);
    }
}

/// Adds to a message's content. Mistral may send parts after text.
fn join_content(slot: &mut Value, more: Value) {
    let part = |text: &str| json!({ "type": "text", "text": text });
    match (&mut *slot, more) {
        (Value::String(text), Value::Array(more)) => {
            let mut parts = vec![];
            if !text.is_empty() {
                parts.push(part(text));
            }
            extend_parts(&mut parts, more);
            *slot = Value::Array(parts);
        }
        (Value::Array(parts), Value::Array(more)) => extend_parts(parts, more),
        (Value::Array(parts), Value::String(more)) => {
            if !more.is_empty() {
                extend_parts(parts, vec![part(&more)]);
            }
        }
        (_, more) => join_value(slot, more),
    }
}

/// Appends parts to parts; the first new one may continue the last.
fn extend_parts(parts: &mut Vec<Value>, more: Vec<Value>) {
    let mut more = more.into_iter();
    if let Some(first) = more.next() {
        match parts.last_mut() {
            Some(last) if is_continuation(last, &first) => continue_part(last, first),
            _ => parts.push(first),
        }
    }
    parts.extend(more);
}

/// Whether a part has the kind of the last one, and that kind comes in pieces.
fn is_continuation(last: &Value, next: &Value) -> bool {
    let kind = |part: &Value, kind: &str| part.get("type").is_some_and(|told| told == kind);
    ["text", "thinking"].iter().any(|name| kind(last, name) && kind(next, name))
}

fn continue_part(last: &mut Value, next: Value) {
    let (Value::Object(last), Value::Object(next)) = (last, next) else { return };
    for (name, value) in next {
        match (name.as_str(), last.get_mut(&name), value) {
            ("text", Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            ("thinking", Some(Value::Array(parts)), Value::Array(more)) => {
                extend_parts(parts, more);
            }
            (_, _, value) => set_member(last, name, value),
        }
    }
}

/// How far back a detail to continue is searched. Without the limit, a stream that opens many at
/// once would cost the square of its length.
const LOOKED_BACK: usize = 64;

/// Merges OpenRouter's reasoning details: those with the same index and type are one.
fn join_details(slot: &mut Value, more: Vec<Value>) {
    let Value::Array(details) = slot else {
        *slot = Value::Array(more);
        return;
    };
    for next in more {
        let same = |name| next.get(name).filter(|told| !told.is_null());
        let place = same("index").and_then(|index| {
            let is = |known: &Value| {
                known.get("index") == Some(index) && known.get("type") == next.get("type")
            };
            let back = details.iter().rev().take(LOOKED_BACK).position(is)?;
            details.len().checked_sub(back + 1)
        });
        match (place.and_then(|place| details.get_mut(place)), next) {
            (Some(Value::Object(known)), Value::Object(next)) => {
                for (name, value) in next {
                    if matches!(name.as_str(), "text" | "summary") {
                        join_value(known.entry(name).or_insert(Value::Null), value);
                    } else {
                        set_member(known, name, value);
                    }
                }
            }
            (_, next) => details.push(next),
        }
    }
}
