//! The merging of a stream's chunks into the body of the complete answer.
//!
//! A chunk carries its parts whole, except for text: the first part of a chunk continues the text
//! before it. Parts of one chunk are never joined.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::finish::finish_word;
use super::partial::{self, PartHandling};
use crate::framing::{Framing, events};
use crate::operation::{MergedStream, ObjectView};

/// Merges a stream; `None` if no chunk belongs to an answer.
pub(super) fn merge_events(framing: Framing, bytes: &[u8]) -> Option<MergedStream> {
    let mut body = ObjectView::new();
    let mut candidates = BTreeMap::new();
    let mut failed = false;
    for event in events(framing, bytes) {
        match event.json_data() {
            Some(Value::Object(chunk)) => {
                failed |= chunk.get("error").is_some_and(|error| !error.is_null());
                take_chunk(chunk, &mut body, &mut candidates);
            }
            _ => failed |= event.data.is_some() && !event.is_done(),
        }
    }
    let blocked = body.get("promptFeedback").and_then(|feedback| feedback.get("blockReason"));
    let blocked = blocked.is_some_and(Value::is_string);
    if !blocked && !body.contains_key("candidates") {
        return None;
    }
    failed |= candidates.values().any(|candidate| candidate.misplaced);
    let finished = !candidates.is_empty() && candidates.values().all(Candidate::is_finished);
    // An array without its closing bracket was cut, whatever its last element is.
    let closed = framing != Framing::Array || bytes.trim_ascii_end().ends_with(b"]");
    if let Some(list) = body.get_mut("candidates") {
        *list = candidates.into_values().map(Candidate::into_value).collect();
    }
    Some(MergedStream { body, ended: closed && (finished || blocked), failed })
}

fn take_chunk(chunk: ObjectView, body: &mut ObjectView, candidates: &mut BTreeMap<u64, Candidate>) {
    for (name, value) in chunk {
        match (name.as_str(), value) {
            ("candidates", Value::Array(list)) => {
                body.entry("candidates").or_insert(Value::Null);
                // Google omits an index of zero, and some servers omit every index.
                let mut unnumbered = 0;
                for candidate in list {
                    let Value::Object(fields) = candidate else { continue };
                    let index = fields.get("index").and_then(Value::as_u64).unwrap_or_else(|| {
                        unnumbered += 1;
                        unnumbered - 1
                    });
                    candidates.entry(index).or_default().take_fields(fields);
                }
            }
            ("candidates", _) => {}
            // A chunk may have only some of the counts.
            ("usageMetadata", Value::Object(counts)) => {
                match body.entry("usageMetadata").or_insert(Value::Null) {
                    Value::Object(told) => {
                        counts.into_iter().for_each(|(name, value)| set_member(told, name, value));
                    }
                    told => *told = Value::Object(counts),
                }
            }
            (_, value) => set_member(body, name, value),
        }
    }
}

/// One candidate while its chunks arrive.
#[derive(Default)]
struct Candidate {
    fields: ObjectView,
    /// The members of `content` other than its parts.
    content: Option<ObjectView>,
    parts: Option<Vec<Value>>,
    /// The elements of the lists in `citationMetadata`, each with the list's name.
    cited: BTreeSet<(String, String)>,
    /// The index of the part whose call has not ended yet.
    open: Option<usize>,
    /// Whether a piece of a call fitted nowhere.
    misplaced: bool,
}

impl Candidate {
    fn is_finished(&self) -> bool {
        self.open.is_none() && self.fields.get("finishReason").and_then(finish_word).is_some()
    }

    fn take_fields(&mut self, fields: ObjectView) {
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("content", Value::Object(content)) => self.take_content(content),
                ("citationMetadata", Value::Object(more)) => {
                    let more = self.new_citations(more);
                    let told = self.fields.entry(name).or_insert(Value::Null);
                    append_lists(told, Value::Object(more));
                }
                // Each chunk has its own tokens.
                ("logprobsResult", value) => {
                    let told = self.fields.entry(name).or_insert(Value::Null);
                    append_lists(told, value);
                }
                (_, value) => set_member(&mut self.fields, name, value),
            }
        }
    }

    /// The citations that no earlier chunk had: a chunk may repeat earlier ones or only add new
    /// ones.
    fn new_citations(&mut self, mut more: ObjectView) -> ObjectView {
        let mut new = vec![];
        for (name, list) in &mut more {
            let Value::Array(list) = list else { continue };
            list.retain(|item| {
                let item = (name.clone(), item.to_string());
                let is_new = !self.cited.contains(&item);
                if is_new {
                    new.push(item);
                }
                is_new
            });
        }
        // Only after the whole chunk, so that a citation that one chunk has twice is kept twice.
        self.cited.extend(new);
        more
    }

    fn take_content(&mut self, content: ObjectView) {
        let known = self.content.get_or_insert_default();
        let mut pieces = None;
        for (name, value) in content {
            match (name.as_str(), value) {
                ("parts", Value::Array(more)) => {
                    let first = self.parts.is_none();
                    self.parts.get_or_insert_default();
                    pieces = Some((first, more));
                }
                (_, value) => set_member(known, name, value),
            }
        }
        let Some((first, more)) = pieces else { return };
        for (place, part) in more.into_iter().enumerate() {
            self.take_part(part, (place == 0).then_some(first));
        }
    }

    /// Takes a part. `leads` is `None` for all but the first part of a chunk; for that one it says
    /// whether it is the first of all.
    fn take_part(&mut self, part: Value, leads: Option<bool>) {
        let parts = self.parts.get_or_insert_default();
        let part = match part {
            Value::Object(part) => {
                let open = self.open.and_then(|open| parts.get_mut(open)?.as_object_mut());
                let (taken, more) = partial::take_part(part, open);
                let last = if more { self.open } else { None };
                match taken {
                    PartHandling::Other(part) => {
                        self.open = last;
                        Value::Object(part)
                    }
                    PartHandling::Opened(part) => {
                        self.open = more.then_some(parts.len());
                        return parts.push(Value::Object(part));
                    }
                    PartHandling::Continued => return self.open = last,
                    PartHandling::Misplaced => return self.misplaced = true,
                }
            }
            other => other,
        };
        match leads {
            Some(first) => take_first(parts, part, first),
            None => parts.push(part),
        }
    }

    fn into_value(self) -> Value {
        let Self { mut fields, content, parts, .. } = self;
        let mut candidate = ObjectView::new();
        if let Some(mut content) = content {
            fields.shift_remove("content");
            if let Some(parts) = parts {
                content.insert("parts".to_owned(), Value::Array(parts));
            }
            candidate.insert("content".to_owned(), Value::Object(content));
        }
        candidate.append(&mut fields);
        Value::Object(candidate)
    }
}

/// Takes the first part of a chunk. It may continue the text before it, and is dropped if it is
/// empty.
fn take_first(parts: &mut Vec<Value>, mut part: Value, first: bool) {
    if let (Some(Value::Object(open)), Value::Object(more)) = (parts.last_mut(), &mut part)
        && is_text(open)
        && is_text(more)
        && !open.contains_key("thoughtSignature")
        && is_thought(open) == is_thought(more)
    {
        if let (Some(Value::String(text)), Some(Value::String(piece))) =
            (open.get_mut("text"), more.get("text"))
        {
            text.push_str(piece);
        }
        if let Some(signature) = more.shift_remove("thoughtSignature") {
            open.insert("thoughtSignature".to_owned(), signature);
        }
        return;
    }
    let empty = part.as_object().is_some_and(|part| part.len() == 1)
        && part.get("text").is_some_and(|text| text == "");
    if first || !empty {
        parts.push(part);
    }
}

/// Whether a part is only text, so that it can come in pieces.
pub(super) fn is_text(part: &ObjectView) -> bool {
    part.get("text").is_some_and(Value::is_string)
        && part.keys().all(|name| matches!(name.as_str(), "text" | "thought" | "thoughtSignature"))
}

fn is_thought(part: &ObjectView) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Sets a member, unless it exists and the new value is empty.
fn set_member(object: &mut ObjectView, name: String, value: Value) {
    let nothing = value.is_null() || value.as_object().is_some_and(ObjectView::is_empty);
    if !nothing || !object.contains_key(&name) {
        object.insert(name, value);
    }
}

/// Appends the elements of an object's lists to the earlier ones.
fn append_lists(told: &mut Value, more: Value) {
    match (told, more) {
        (_, Value::Null) => {}
        (Value::Object(told), Value::Object(more)) => {
            for (name, value) in more {
                match (told.get_mut(&name), value) {
                    (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                    (_, value) => set_member(told, name, value),
                }
            }
        }
        (told, more) => *told = more,
    }
}
