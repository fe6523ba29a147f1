//! The reader of OpenAI's Responses: complete bodies, and streams by their terminal event, or by
//! their deltas if the stream was cut before it.

mod answer_place;
mod conversation;
mod end;
mod finish;
mod merge;
mod outcome;
mod split;
mod write;

use end::{TERMINAL, is_terminal};

use finish::FINISH;

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memmem;
use serde_json::{Value, json};

use super::chat::stated_cost;
use crate::event_text::holds_text_of;
use crate::framing::{EventFrame, Framing, events};
use crate::json_view::{
    JsonView, count_of, has_unread_count, has_word, items, member_text, nested_member,
    text_or_empty, token_count,
};
use crate::operation::StreamError;
use crate::operation::{OperationRow, UsageNames};
use crate::stream_error::usual_kind;
use crate::{Answer, TokenUsage, ToolCall, json_view, tool_result};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Responses",
    word: "responses",
    semantic: Some("chat"),
    delivery: true,
    conversation: Some(|body| Some(conversation::read_messages(body))),
    tool_results: Some(tool_result::in_items),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_stream(bytes)),
    event_has_text: |event| holds_text_of(event, "type", "response.output_text.delta", &["/delta"]),
    merge: Some(|_, bytes| merge::merge_events(bytes)),
    split: Some(split::split_body),
    write: Some(write::write_body),
    first_event: Some("response.created"),
    stream_error: error_event,
    shape: answer_place::find_shape,
    finish: Some(&FINISH),
    usage_names: UsageNames { input: "input_tokens", output: "output_tokens", total: None },
    outcome: outcome::OUTCOME,
    ..OperationRow::UNREAD
};

/// The event for an error in a stream.
fn error_event(error: &StreamError<'_>) -> EventFrame {
    let code = error.kind.unwrap_or_else(|| usual_kind(error.status));
    let data = json!({
        "type": "error", "code": code, "message": error.message, "param": null,
        "sequence_number": error.place
    });
    EventFrame::named("error", data)
}

/// Reads a complete body; `None` if it has no `output`.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    body.member("output")?.as_list()?;
    let mut answer = Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: body.member("usage").and_then(read_usage),
        finish_reason: finish_reason(body),
        cost_usd: stated_cost(body),
        ..Answer::default()
    };
    for item in items(body, "output") {
        item_into(item, &mut answer);
    }
    Some(answer)
}

/// The finish reason: why the answer is incomplete, else its status.
fn finish_reason<D: JsonView>(body: &D) -> Option<String> {
    let reason = nested_member(body, &["incomplete_details", "reason"]).and_then(JsonView::as_text);
    reason.or_else(|| member_text(body, "status")).map(Cow::into_owned)
}

fn item_into<D: JsonView>(item: &D, answer: &mut Answer) {
    let arguments = match text_or_empty(item, "type").as_ref() {
        "message" => {
            for part in items(item, "content") {
                if has_word(part, "type", "output_text") {
                    answer.content.push_str(&text_or_empty(part, "text"));
                }
            }
            return;
        }
        "function_call" => item.member("arguments"),
        "custom_tool_call" => item.member("input"),
        _ => return,
    };
    let (id, name) = (text_or_empty(item, "call_id"), text_or_empty(item, "name"));
    answer.tool_calls.push(ToolCall::from_doc(&id, &name, arguments));
}

fn read_usage<D: JsonView>(usage: &D) -> Option<TokenUsage> {
    if !usage.is_map() || has_unread_count(usage, &["input_tokens", "output_tokens"]) {
        return None;
    }
    let within =
        |object, name| nested_member(usage, &[object, name]).and_then(count_of).unwrap_or_default();
    let prompt = token_count(usage, "input_tokens").unwrap_or(0);
    let completion = token_count(usage, "output_tokens").unwrap_or(0);
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: token_count(usage, "total_tokens")
            .unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: within("output_tokens_details", "reasoning_tokens"),
        cached_tokens: within("input_tokens_details", "cached_tokens"),
        cache_write_tokens: within("input_tokens_details", "cache_write_tokens"),
    })
}

/// One output item while its deltas arrive.
#[derive(Default)]
struct OutputItem {
    /// The item from its last `added` or `done` event.
    value: Value,
    /// Its text, or its call's arguments.
    pieces: String,
}

/// Reads a stream, or what arrived of it; `None` if it has no Responses event. A terminal event
/// repeats everything before it, so it alone is read.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    let terminal = events(Framing::Sse, bytes).filter_map(|event| event.data).find_map(|data| {
        let words = TERMINAL.iter().any(|word| memmem::find(&data, word.as_bytes()).is_some());
        let read =
            || json_view::read_json(&data, |json| read_terminal_event(json), read_terminal_event);
        words.then(read).flatten()
    });
    match terminal {
        // Its content may only be in the events before it.
        Some(Some(silent)) if silent.content.is_empty() && silent.tool_calls.is_empty() => {
            read_body(&Value::Object(merge::merge_events(bytes)?.body)).or(Some(silent))
        }
        Some(answer) => answer,
        None => read_pieces(bytes),
    }
}

/// The answer in a terminal event; `None` for any other event.
fn read_terminal_event<D: JsonView>(event: &D) -> Option<Option<Answer>> {
    is_terminal(&text_or_empty(event, "type")).then(|| event.member("response").and_then(read_body))
}

/// Reads a stream piece by piece.
fn read_pieces(bytes: &[u8]) -> Option<Answer> {
    let mut opened: Option<Value> = None;
    let mut output: BTreeMap<u64, OutputItem> = BTreeMap::new();
    for event in events(Framing::Sse, bytes) {
        let Some(mut data) = event.json_data() else {
            continue;
        };
        let kind = text_or_empty(&data, "type").into_owned();
        if is_terminal(&kind) {
            return read_body(data.get("response")?);
        }
        let index = token_count(&data, "output_index").unwrap_or(0);
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => {
                opened = data.get_mut("response").map(Value::take);
            }
            "response.output_item.added" => {
                if let Some(item) = data.get_mut("item") {
                    output.entry(index).or_default().value = item.take();
                }
            }
            "response.output_item.done" => {
                let value = data.get_mut("item").map(Value::take).unwrap_or_default();
                let pieces = String::new();
                output.insert(index, OutputItem { value, pieces });
            }
            "response.output_text.delta"
            | "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta" => {
                let piece = text_or_empty(&data, "delta");
                output.entry(index).or_default().pieces.push_str(&piece);
            }
            _ => {}
        }
    }
    (opened.is_some() || !output.is_empty()).then(|| cut_answer(opened.as_ref(), output))
}

/// The answer of a stream without a terminal event; it has neither usage nor finish reason.
fn cut_answer(opened: Option<&Value>, output: BTreeMap<u64, OutputItem>) -> Answer {
    let mut answer = Answer {
        model: opened.and_then(|response| member_text(response, "model")).map(Cow::into_owned),
        ..Answer::default()
    };
    for mut item in output.into_values() {
        if item.pieces.is_empty() {
            item_into(&item.value, &mut answer);
            continue;
        }
        let slot = match text_or_empty(&item.value, "type").as_ref() {
            "function_call" => "arguments",
            "custom_tool_call" => "input",
            _ => {
                answer.content.push_str(&item.pieces);
                continue;
            }
        };
        if let Value::Object(fields) = &mut item.value {
            fields.insert(slot.to_owned(), Value::String(item.pieces));
        }
        item_into(&item.value, &mut answer);
    }
    answer
}

#[cfg(test)]
mod tests;
