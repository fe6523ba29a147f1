//! The reader and writer of Gemini's Interactions, and the change of their delivery.
//!
//! An interaction has a list of `steps`: thoughts, outputs of the model, calls of functions. Older
//! revisions have `outputs` instead. A stream opens each step, adds to it piece by piece, and ends
//! with the interaction without its steps, which has the usage. Thoughts are not part of the content.
//! Their tokens count as reasoning and as completion.

mod answer_place;
mod finish;
mod merge;
mod outcome;
mod split;
mod write;

use std::borrow::Cow;

use finish::FINISH;
use serde_json::Value;

use crate::event_text::holds_text;
use crate::json_view::{
    JsonView, has_unread_count, has_word, items, member_text, read_json, text_or_empty, token_count,
};
use crate::operation::{OperationRow, UsageNames};
use crate::{Answer, TokenUsage, ToolCall};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Interactions",
    word: "interactions",
    semantic: Some("generate_content"),
    delivery: true,
    was_unknown: true,
    read: Some(|bytes| read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_body(&Value::Object(merge::merge_events(bytes)?.body))),
    event_has_text: |event| {
        event.pointer("/delta/type").is_some_and(|kind| kind == "text")
            && holds_text(event, &["/delta/text"])
    },
    merge: Some(|_, bytes| merge::merge_events(bytes)),
    split: Some(split::split_body),
    write: Some(write::write_body),
    stream_error: write::error_event,
    shape: answer_place::find_shape,
    first_event: Some("interaction.created"),
    finish: Some(&FINISH),
    usage_names: UsageNames {
        input: "total_input_tokens",
        output: "total_output_tokens",
        total: Some("total_tokens"),
    },
    outcome: outcome::OUTCOME,
    ..OperationRow::UNREAD
};

/// Reads an interaction; `None` if it has neither steps nor a status.
fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let status = member_text(body, "status").map(Cow::into_owned);
    let steps = ["steps", "outputs"].iter().find_map(|name| body.member(name)?.as_list());
    if status.is_none() && steps.is_none() {
        return None;
    }
    let agent = || member_text(body, "agent");
    let mut answer = Answer {
        model: member_text(body, "model").or_else(agent).map(Cow::into_owned),
        usage: body.member("usage").and_then(read_usage),
        finish_reason: status,
        ..Answer::default()
    };
    for step in steps.unwrap_or_default() {
        step_into(step, &mut answer);
    }
    Some(answer)
}

fn step_into<D: JsonView>(step: &D, answer: &mut Answer) {
    match text_or_empty(step, "type").as_ref() {
        "model_output" => {
            for part in items(step, "content").iter().filter(|part| has_word(*part, "type", "text"))
            {
                answer.content.push_str(&text_or_empty(part, "text"));
            }
        }
        // An output of an older revision.
        "text" => answer.content.push_str(&text_or_empty(step, "text")),
        "function_call" => {
            let (id, name) = (text_or_empty(step, "id"), text_or_empty(step, "name"));
            answer.tool_calls.push(ToolCall::from_doc(&id, &name, step.member("arguments")));
        }
        _ => {}
    }
}

fn read_usage<D: JsonView>(usage: &D) -> Option<TokenUsage> {
    let names = ["total_input_tokens", "total_output_tokens"];
    if names.iter().all(|name| usage.member(name).is_none()) || has_unread_count(usage, &names) {
        return None;
    }
    let of = |name| token_count(usage, name).unwrap_or(0);
    let prompt = of("total_input_tokens").saturating_add(of("total_tool_use_tokens"));
    let reasoning = of("total_thought_tokens");
    let completion = of("total_output_tokens").saturating_add(reasoning);
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: token_count(usage, "total_tokens")
            .unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: reasoning,
        cached_tokens: of("total_cached_tokens"),
        cache_write_tokens: 0,
    })
}

#[cfg(test)]
mod tests;
