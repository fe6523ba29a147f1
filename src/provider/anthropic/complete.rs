//! The reader of Anthropic's text completions, which came before its Messages.

use std::borrow::Cow;

use super::usage_names::USAGE;
use crate::Answer;
use crate::answer_outcome::{AnswerEvent, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::event_text::holds_text;
use crate::framing::{Framing, events};
use crate::json_view::{self, JsonView, member_text};
use crate::operation::OperationRow;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Text Completions",
    word: "text_completions",
    semantic: Some("text_completion"),
    was_unknown: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_stream(bytes)),
    event_has_text: |event| holds_text(event, &["/completion"]),
    usage_names: USAGE,
    outcome: OutcomeRules {
        event: Some(take_event),
        end_mark: "a stop reason",
        ..OutcomeRules::JSON
    },
    ..OperationRow::UNREAD
};

/// Reads a complete body; `None` if it has no completion.
fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    Some(Answer {
        content: member_text(body, "completion")?.into_owned(),
        model: member_text(body, "model").map(Cow::into_owned),
        finish_reason: member_text(body, "stop_reason").map(Cow::into_owned),
        ..Answer::default()
    })
}

/// Reads a stream, each event of which has the next piece.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    let pieces = events(Framing::Sse, bytes).filter_map(|event| read_body(&event.json_data()?));
    pieces.reduce(|before, now| Answer {
        content: before.content + &now.content,
        model: now.model.or(before.model),
        finish_reason: now.finish_reason.or(before.finish_reason),
        ..before
    })
}

fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    event.read_json(|json| {
        if let Some(text) = error_in(json) {
            progress.note_failure(text);
        } else if member_text(json, "stop_reason").is_some() {
            progress.note_end();
        } else if json.get("completion").is_some() {
            progress.note_known();
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::Operation;
    use crate::test_calls::read;

    #[test]
    fn completion_is_read_complete_and_streamed() {
        let body = br#"{"type":"completion","completion":" Hi you","stop_reason":"stop_sequence",
            "model":"claude-2.1"}"#;
        let answer = read(Operation::TEXT_COMPLETIONS, false, body).unwrap();
        assert_eq!(
            (answer.content.as_str(), answer.model.as_deref()),
            (" Hi you", Some("claude-2.1"))
        );
        let piece = |text: &str, stop: &str| {
            format!(
                r#"{{"type":"completion","completion":"{text}","stop_reason":{stop},"model":"claude-2.1"}}"#
            )
        };
        let stream = format!(
            "event: completion\ndata: {}\n\nevent: ping\ndata: {{\"type\":\"ping\"}}\n\n\
             event: completion\ndata: {}\n\n",
            piece(" Hi", "null"),
            piece(" you", "\"stop_sequence\"")
        );
        assert_eq!(read(Operation::TEXT_COMPLETIONS, true, stream.as_bytes()), Some(answer));
    }
}
