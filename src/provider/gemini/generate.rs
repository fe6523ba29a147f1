//! The reader and writer of Gemini's (and Vertex's) generated content: a complete body, a stream of
//! server-sent events, and a stream as one JSON array, incomplete or whole.
//!
//! Thoughts are not part of the content. Their tokens count as reasoning and as completion.

mod adapter;
mod answer_place;
mod conversation;
mod finish;
mod merge;
mod outcome;
mod partial;
mod split;
mod write;

use finish::{FINISH, finish_word};

use std::borrow::Cow;

use serde_json::Value;

use super::error::own_body as error_body;
use super::usage_names::USAGE;
use crate::event_text::holds_text;
use crate::framing::{EventFrame, Framing, events};
use crate::json_view::{
    JsonView, count_of, has_unread_count, items, member_text, nested_member, text_or_empty,
};
use crate::operation::OperationRow;
use crate::operation::StreamError;
use crate::{Answer, TokenUsage, ToolCall, json_view, tool_result};
use loomrec_identity::Json;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Generate Content",
    word: "generate_content",
    semantic: Some("generate_content"),
    delivery: true,
    framing: |query, _| asked_framing(query),
    streams_arrays: true,
    choices: candidate_count,
    conversation: Some(|body| Some(conversation::read_messages(body))),
    tool_results: Some(tool_result::in_parts),
    adapter: Some(&adapter::ADAPTER),
    read: Some(read_body),
    read_stream: Some(|framing, bytes| match framing {
        _ if in_pieces(bytes) => {
            let merged = Value::Object(merge::merge_events(framing, bytes)?.body);
            merge_chunks(std::slice::from_ref(&merged))
        }
        Framing::Array => read_body(bytes),
        _ => read_stream(bytes),
    }),
    event_has_text: has_text,
    merge: Some(merge::merge_events),
    split: Some(split::split_body),
    write: Some(write::write_body),
    stream_error: error_event,
    shape: answer_place::find_shape,
    finish: Some(&FINISH),
    usage_names: USAGE,
    outcome: outcome::OUTCOME,
    ..OperationRow::UNREAD
};

/// Whether an event carries text that is not a thought.
fn has_text(event: &Value) -> bool {
    let parts = event.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    parts.into_iter().flatten().any(|part| {
        part.get("thought").and_then(Value::as_bool) != Some(true) && holds_text(part, &["/text"])
    })
}

/// The event for an error in a stream.
fn error_event(error: &StreamError<'_>) -> EventFrame {
    let mut data = error_body(error.status, "", error.message);
    if let Some(kind) = error.kind {
        data["error"]["status"] = kind.into();
    }
    if let Some(error) = data["error"].as_object_mut() {
        error.shift_remove("details");
    }
    EventFrame::unnamed(data)
}

/// One JSON array, unless the query asks for events.
fn asked_framing(query: &str) -> Framing {
    let events = query.split('&').any(|parameter| parameter == "alt=sse");
    if events { Framing::Sse } else { Framing::Array }
}

/// How many candidates a request asks for, in either spelling.
fn candidate_count(body: &Json<'_>) -> Option<usize> {
    let number = |outer: &str, name: &str| body.get(outer)?.get(name)?.as_number()?.parse().ok();
    number("generationConfig", "candidateCount")
        .or_else(|| number("generation_config", "candidate_count"))
}

/// Whether the arguments of a call may come in pieces; if so, they must be merged.
fn in_pieces(bytes: &[u8]) -> bool {
    let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    has("\"partialArgs\"") || has("\"willContinue\"")
}

/// Reads a body that is not server-sent events: one object, or an array of chunks.
fn read_body(bytes: &[u8]) -> Option<Answer> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        // Only the complete chunks of an array that was cut.
        let chunks = events(Framing::Array, bytes).filter_map(|event| event.json_data());
        return merge_chunks(&chunks.collect::<Vec<Value>>());
    }
    json_view::read_json(
        bytes,
        |json| merge_chunks(std::slice::from_ref(json)),
        |body| merge_chunks(std::slice::from_ref(body)),
    )
}

/// Reads a stream of server-sent events, or what arrived of it.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    let data: Vec<Cow<'_, [u8]>> =
        events(Framing::Sse, bytes).filter_map(|event| event.data).collect();
    let borrowed: Result<Vec<_>, _> =
        data.iter().map(|data| loomrec_identity::parse(data)).collect();
    match borrowed {
        Ok(chunks) => merge_chunks(&chunks),
        // An event that is not plain JSON is skipped if it is not JSON at all.
        Err(_) => {
            let parsed = data.iter().filter_map(|data| serde_json::from_slice(data).ok());
            merge_chunks(&parsed.collect::<Vec<Value>>())
        }
    }
}

/// Combines the chunks; `None` if none of them belongs to an answer.
pub(crate) fn merge_chunks<D: JsonView>(chunks: &[D]) -> Option<Answer> {
    let mut answer =
        Answer { usage: read_usage(&chunks.iter().collect::<Vec<_>>()), ..Answer::default() };
    let mut seen = false;
    for chunk in chunks {
        let blocked = nested_member(chunk, &["promptFeedback", "blockReason"]);
        seen |= chunk.member("candidates").is_some() || blocked.is_some();
        if let Some(model) = member_text(chunk, "modelVersion") {
            answer.model = Some(model.into_owned());
        }
        let is_first =
            |candidate: &&D| json_view::token_count(*candidate, "index").unwrap_or(0) == 0;
        let first = items(chunk, "candidates").iter().find(is_first);
        let reason = first.and_then(|candidate| finish_word(candidate.member("finishReason")?));
        if let Some(reason) = reason.or_else(|| blocked?.as_text()) {
            answer.finish_reason = Some(reason.into_owned());
        }
        if let Some(content) = first.and_then(|candidate| candidate.member("content")) {
            parts_into(items(content, "parts"), &mut answer);
        }
    }
    (seen || answer.usage.is_some()).then_some(answer)
}

fn parts_into<D: JsonView>(parts: &[D], answer: &mut Answer) {
    for part in parts {
        let thought = part.member("thought").is_some_and(JsonView::is_true);
        if let Some(piece) = member_text(part, "text").filter(|_| !thought) {
            answer.content.push_str(&piece);
        }
        if let Some(call) = part.member("functionCall").filter(|call| call.is_map()) {
            let (id, name) = (text_or_empty(call, "id"), text_or_empty(call, "name"));
            answer.tool_calls.push(ToolCall::from_doc(&id, &name, call.member("args")));
        }
    }
}

/// The counts in the chunks of an answer, if there are any and they can be read.
pub(super) fn read_usage<D: JsonView>(chunks: &[&D]) -> Option<TokenUsage> {
    let told = chunks.iter().filter_map(|chunk| chunk.member("usageMetadata"));
    let counts: Vec<&D> = told.filter(|counts| counts.is_map() && !counts.is_empty_map()).collect();
    let names = ["promptTokenCount", "candidatesTokenCount"];
    let is_read = !counts.is_empty() && !counts.iter().any(|it| has_unread_count(*it, &names));
    is_read.then(|| merge_counts(&counts))
}

/// The counts of a stream are cumulative; a chunk may have only some of them.
fn merge_counts<D: JsonView>(counts: &[&D]) -> TokenUsage {
    let told = |name| counts.iter().rev().find_map(|counts| counts.member(name));
    let of = |name| told(name).and_then(count_of).unwrap_or(0);
    let thoughts = of("thoughtsTokenCount");
    // Tokens that a tool of Google's added to the prompt are counted separately.
    let prompt = of("promptTokenCount").saturating_add(of("toolUsePromptTokenCount"));
    let completion = of("candidatesTokenCount").saturating_add(thoughts);
    let total = told("totalTokenCount").and_then(count_of);
    TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total.unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: thoughts,
        cached_tokens: of("cachedContentTokenCount"),
        cache_write_tokens: 0,
    }
}

#[cfg(test)]
mod mode_tests;
#[cfg(test)]
mod tests;
