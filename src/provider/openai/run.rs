//! The reader of runs of assistants: the object of a run, and the events of a streamed one.

use std::borrow::Cow;

use super::chat;
use super::stream_error::stream_error;
use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::event_text::holds_text;
use crate::framing::{Framing, events};
use crate::json_view::{self, JsonView, items, nested, says, text, text_or_empty};
use crate::operation::OperationRow;
use crate::{Answer, ToolCall};
use loomrec_identity::Json;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Runs",
    word: "runs",
    semantic: Some("invoke_agent"),
    was_unknown: true,
    read: Some(|bytes| json_view::whole(bytes, |json| run(json), run)),
    read_stream: Some(|_, bytes| stream(bytes)),
    event_has_text: |event| holds_text(event, &["/delta/content/0/text/value"]),
    stream_error,
    outcome: OutcomeRules {
        words: &["failed\"", "cancelled\"", "expired\""],
        document: |json| failure(json).map(|text| JudgedAnswer::failed(&text)),
        event: Some(event),
        end_mark: "`done`",
        ..OutcomeRules::JSON
    },
    ..OperationRow::UNREAD
};

/// Reads a run; `None` for any other object, such as a list of runs.
fn run<D: JsonView>(body: &D) -> Option<Answer> {
    if !says(body, "object", "thread.run") && !says(body, "object", "thread.run.step") {
        return None;
    }
    let mut answer = Answer {
        model: text(body, "model").map(Cow::into_owned),
        usage: chat::usage(body),
        finish_reason: text(body, "status").map(Cow::into_owned),
        ..Answer::default()
    };
    let asked = nested(body, &["required_action", "submit_tool_outputs"]);
    for call in asked.map(|asked| items(asked, "tool_calls")).unwrap_or_default() {
        let Some(function) = call.member("function") else { continue };
        let (id, name) = (text_or_empty(call, "id"), text_or_empty(function, "name"));
        answer.tool_calls.push(ToolCall::from_doc(&id, &name, function.member("arguments")));
    }
    Some(answer)
}

/// Reads a stream: the texts of its messages, and the last state of its run.
fn stream(bytes: &[u8]) -> Option<Answer> {
    let mut answer: Option<Answer> = None;
    let mut content = String::new();
    for event in events(Framing::Sse, bytes) {
        let Some(data) = event.json() else { continue };
        if says(&data, "object", "thread.run") {
            let before = answer.take();
            answer = run(&data).map(|now| Answer {
                usage: now.usage.or(before.and_then(|before| before.usage)),
                ..now
            });
        }
        let delta =
            nested(&data, &["delta"]).filter(|_| says(&data, "object", "thread.message.delta"));
        for part in delta.map(|delta| items(delta, "content")).unwrap_or_default() {
            if let Some(piece) = nested(part, &["text", "value"]).and_then(JsonView::string) {
                content.push_str(&piece);
            }
        }
    }
    let answer = answer.or_else(|| (!content.is_empty()).then(Answer::default))?;
    Some(Answer { content, ..answer })
}

fn event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    if event.is_done() {
        return progress.end();
    }
    event.read(|json| match failure(json) {
        Some(text) => progress.fail(text),
        None if json.get("object").is_some() => progress.known(),
        None => {}
    });
}

/// The failure that a run reports.
fn failure(json: &Json<'_>) -> Option<String> {
    let status = text(json, "status").unwrap_or_default();
    let is_failed = says(json, "object", "thread.run")
        && matches!(&*status, "failed" | "cancelled" | "expired");
    let told = nested(json, &["last_error", "message"]).and_then(JsonView::string);
    let told = told.map_or_else(|| format!("status `{status}`"), Cow::into_owned);
    error_in(json).or_else(|| is_failed.then_some(told))
}
