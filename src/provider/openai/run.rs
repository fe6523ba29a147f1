//! The reader of runs of assistants: the object of a run, and the events of a streamed one.

use std::borrow::Cow;

use super::chat;
use super::stream_error::stream_error;
use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::event_text::holds_text;
use crate::framing::{Framing, events};
use crate::json_view::{
    self, JsonView, has_word, items, member_text, nested_member, text_or_empty,
};
use crate::operation::OperationRow;
use crate::{Answer, ToolCall};
use loomrec_identity::Json;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Runs",
    word: "runs",
    semantic: Some("invoke_agent"),
    was_unknown: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_stream(bytes)),
    event_has_text: |event| holds_text(event, &["/delta/content/0/text/value"]),
    stream_error,
    outcome: OutcomeRules {
        words: &["failed\"", "cancelled\"", "expired\""],
        document: |json| failure_text(json).map(|text| JudgedAnswer::failed(&text)),
        event: Some(take_event),
        end_mark: "`done`",
        ..OutcomeRules::JSON
    },
    ..OperationRow::UNREAD
};

/// Reads a run; `None` for any other object, such as a list of runs.
fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    if !has_word(body, "object", "thread.run") && !has_word(body, "object", "thread.run.step") {
        return None;
    }
    let mut answer = Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: chat::read_usage(body),
        finish_reason: member_text(body, "status").map(Cow::into_owned),
        ..Answer::default()
    };
    let asked = nested_member(body, &["required_action", "submit_tool_outputs"]);
    for call in asked.map(|asked| items(asked, "tool_calls")).unwrap_or_default() {
        let Some(function) = call.member("function") else { continue };
        let (id, name) = (text_or_empty(call, "id"), text_or_empty(function, "name"));
        answer.tool_calls.push(ToolCall::from_doc(&id, &name, function.member("arguments")));
    }
    Some(answer)
}

/// Reads a stream: the texts of its messages, and the last state of its run.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    let mut answer: Option<Answer> = None;
    let mut content = String::new();
    for event in events(Framing::Sse, bytes) {
        let Some(data) = event.json_data() else { continue };
        if has_word(&data, "object", "thread.run") {
            let before = answer.take();
            answer = read_body(&data).map(|now| Answer {
                usage: now.usage.or(before.and_then(|before| before.usage)),
                ..now
            });
        }
        let delta = nested_member(&data, &["delta"])
            .filter(|_| has_word(&data, "object", "thread.message.delta"));
        for part in delta.map(|delta| items(delta, "content")).unwrap_or_default() {
            if let Some(piece) = nested_member(part, &["text", "value"]).and_then(JsonView::as_text)
            {
                content.push_str(&piece);
            }
        }
    }
    let answer = answer.or_else(|| (!content.is_empty()).then(Answer::default))?;
    Some(Answer { content, ..answer })
}

fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    if event.is_done() {
        return progress.note_end();
    }
    event.read_json(|json| match failure_text(json) {
        Some(text) => progress.note_failure(text),
        None if json.get("object").is_some() => progress.note_known(),
        None => {}
    });
}

/// The failure that a run reports.
fn failure_text(json: &Json<'_>) -> Option<String> {
    let status = member_text(json, "status").unwrap_or_default();
    let is_failed = has_word(json, "object", "thread.run")
        && matches!(&*status, "failed" | "cancelled" | "expired");
    let told = nested_member(json, &["last_error", "message"]).and_then(JsonView::as_text);
    let told = told.map_or_else(|| format!("status `{status}`"), Cow::into_owned);
    error_in(json).or_else(|| is_failed.then_some(told))
}
