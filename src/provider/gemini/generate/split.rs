//! The conversion of complete generated content into streams.

use serde_json::{Value, json};

use super::merge::is_text;
use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::operation::ObjectView;
use crate::operation::ResponseFormat;

/// The chunks of a complete answer; `None` if it has neither candidates nor a refusal.
pub(super) fn split_body(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let blocked = body.get("promptFeedback").and_then(|feedback| feedback.get("blockReason"));
    let blocked = blocked.is_some_and(Value::is_string);
    let candidates = match body.shift_remove("candidates") {
        Some(Value::Array(candidates)) => candidates,
        None if blocked => return Some(vec![EventFrame::unnamed(Value::Object(body))]),
        _ => return None,
    };
    let mut deltas = vec![];
    for (place, candidate) in candidates.into_iter().enumerate() {
        let Value::Object(candidate) = candidate else { return None };
        take_candidate(place, candidate, &mut deltas);
    }
    Some(build_chunks(body, deltas))
}

/// Builds chunks from the pieces of the candidates. Every chunk repeats some members, the first has
/// others, and the last has the counts and the rest.
fn build_chunks(mut body: ObjectView, deltas: Vec<ObjectView>) -> Vec<EventFrame> {
    let mut head = ObjectView::new();
    for name in ["modelVersion", "responseId", "createTime"] {
        if let Some(value) = body.shift_remove(name) {
            head.insert(name.to_owned(), value);
        }
    }
    let mut feedback = body.shift_remove("promptFeedback");
    let mut lists: Vec<Value> = deltas.into_iter().map(|delta| json!([delta])).collect();
    if lists.is_empty() {
        lists.push(json!([]));
    }
    let last = lists.len() - 1;
    let chunk = |(place, candidates): (usize, Value)| {
        let mut chunk = ObjectView::new();
        chunk.insert("candidates".to_owned(), candidates);
        if let Some(feedback) = feedback.take() {
            chunk.insert("promptFeedback".to_owned(), feedback);
        }
        if place == last {
            chunk.append(&mut body);
        }
        chunk.extend(head.clone());
        EventFrame::unnamed(Value::Object(chunk))
    };
    lists.into_iter().enumerate().map(chunk).collect()
}

/// Adds the pieces of one candidate, each with its index; the last one has all its members except
/// the parts.
fn take_candidate(place: usize, mut candidate: ObjectView, deltas: &mut Vec<ObjectView>) {
    let mut index = candidate.shift_remove("index");
    if index.is_none() && place > 0 {
        index = Some(place.into());
    }
    let mut lists = vec![];
    let mut role = None;
    if let Some(Value::Object(content)) = candidate.get_mut("content") {
        role = content.get("role").cloned();
        if let Some(Value::Array(parts)) = content.get_mut("parts").map(Value::take) {
            lists = in_chunks(parts);
            if let Some(last) = lists.pop() {
                content.insert("parts".to_owned(), Value::Array(last));
            } else {
                content.insert("parts".to_owned(), json!([]));
            }
        }
    }
    let numbered = |mut delta: ObjectView| {
        if let Some(index) = &index {
            delta.insert("index".to_owned(), index.clone());
        }
        delta
    };
    for parts in lists {
        let mut content = ObjectView::new();
        content.insert("parts".to_owned(), Value::Array(parts));
        if let Some(role) = &role {
            content.insert("role".to_owned(), role.clone());
        }
        let delta = ObjectView::from_iter([("content".to_owned(), Value::Object(content))]);
        deltas.push(numbered(delta));
    }
    deltas.push(numbered(candidate));
}

/// Groups the parts into one list per chunk. A chunk only begins where a reader can tell it from
/// the chunk before: text after text, and empty text, stay in the chunk before.
fn in_chunks(parts: Vec<Value>) -> Vec<Vec<Value>> {
    let mut chunks: Vec<Vec<Value>> = vec![];
    let mut after_text = false;
    for part in parts {
        let mut pieces = in_pieces(part).into_iter();
        let Some(first) = pieces.next() else { continue };
        let text = first.get("text").and_then(Value::as_str);
        let stays = text.is_some_and(|text| after_text || text.is_empty());
        after_text = text.is_some();
        match chunks.last_mut().filter(|_| stays) {
            Some(chunk) => chunk.push(first),
            None => chunks.push(vec![first]),
        }
        chunks.extend(pieces.map(|piece| vec![piece]));
    }
    chunks
}

/// Splits a part into pieces: text by its words, with a signature after the last one; anything else
/// stays whole. Returns at least one piece.
fn in_pieces(part: Value) -> Vec<Value> {
    let mut part = match part {
        Value::Object(part) if is_text(&part) => part,
        other => return vec![other],
    };
    let Some(Value::String(text)) = part.shift_remove("text") else { return vec![] };
    let signature = part.shift_remove("thoughtSignature");
    let piece = |text: &str| {
        let mut piece = part.clone();
        piece.insert("text".to_owned(), text.into());
        piece
    };
    let mut all: Vec<ObjectView> = text_pieces(&text).map(piece).collect();
    if all.is_empty() {
        all.push(piece(""));
    }
    if let (Some(last), Some(signature)) = (all.last_mut(), signature) {
        last.insert("thoughtSignature".to_owned(), signature);
    }
    all.into_iter().map(Value::Object).collect()
}
