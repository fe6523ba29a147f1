//! The common parts of Ollama's chat and generate: a line for each piece, and a last line with
//! `done`, the finish reason, the counts and the times.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::answer_draft::{AnswerDraft, FinishWords, text_pieces};
use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::framing::{self, EventFrame, Framing};
use crate::json_view::{JsonView, member_text, token_count};
use crate::operation::{MergedStream, ObjectView, StreamError};
use crate::{Answer, TokenUsage};

/// Ollama's words for why an answer ended.
pub(super) static FINISH: FinishWords =
    FinishWords { stop: &["stop"], length: &["length"], tools: &["stop"], filter: &[] };

/// How chat and generate end and fail: the last line, and a complete answer, say that they are done.
pub(super) const OUTCOME: OutcomeRules = OutcomeRules {
    words: &["\"done\":false", "\"done\": false"],
    document: |json| match error_in(json) {
        Some(text) => Some(JudgedAnswer::failed(&text)),
        None => json
            .get("done")
            .and_then(|done| done.as_bool())
            .is_some_and(|is_done| !is_done)
            .then(|| JudgedAnswer::unfinished("it says that it is not done")),
    },
    event: Some(take_line),
    end_mark: "a line with `\"done\": true`",
    ..OutcomeRules::JSON
};

/// The members of which each line has some.
const KNOWN: [&str; 4] = ["done", "message", "response", "model"];

/// Takes a line of a stream.
fn take_line(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    event.read_json(|json| {
        if let Some(text) = error_in(json) {
            return progress.note_failure(text);
        }
        if json.get("done").is_some_and(JsonView::is_true) {
            progress.note_end();
        }
        if KNOWN.iter().any(|name| json.get(name).is_some()) {
            progress.note_known();
        }
    });
}

/// The event for an error in a stream.
pub(super) fn stream_error(error: &StreamError<'_>) -> EventFrame {
    EventFrame::unnamed(json!({ "error": error.message }))
}

/// The parts of an answer that do not depend on the place of the text.
pub(super) fn base_answer<D: JsonView>(body: &D) -> Answer {
    Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: read_usage(body),
        finish_reason: member_text(body, "done_reason").map(Cow::into_owned),
        ..Answer::default()
    }
}

/// Ollama sends no total, and may omit a count of zero.
pub(super) fn read_usage<D: JsonView>(body: &D) -> Option<TokenUsage> {
    let (prompt, completion) =
        (token_count(body, "prompt_eval_count"), token_count(body, "eval_count"));
    prompt.or(completion)?;
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt.saturating_add(completion),
        ..TokenUsage::default()
    })
}

/// Merges the lines of a stream; `None` if none of them has the member `marker`, which holds the
/// text.
pub(super) fn merge_events(framing: Framing, bytes: &[u8], marker: &str) -> Option<MergedStream> {
    let mut merged = MergedStream { body: ObjectView::new(), ended: false, failed: false };
    for event in framing::events(framing, bytes) {
        merged.failed |= event.failed;
        let Some(Value::Object(line)) = event.json_data() else {
            merged.failed |= event.data.is_some();
            continue;
        };
        merged.failed |= line.get("error").is_some_and(|error| !error.is_null());
        merged.ended |= line.get("done") == Some(&Value::Bool(true));
        for (name, value) in line {
            match (name.as_str(), value) {
                ("message", Value::Object(piece)) => {
                    let message = merged.body.entry(name).or_insert_with(|| json!({}));
                    if let Value::Object(message) = message {
                        for (name, value) in piece {
                            merge_member(message, name, value);
                        }
                    }
                }
                ("message", _) => {}
                ("response" | "thinking" | "logprobs", value) => {
                    merge_member(&mut merged.body, name, value)
                }
                (_, value) => {
                    merged.body.insert(name, value);
                }
            }
        }
    }
    merged.body.contains_key(marker).then_some(merged)
}

/// Merges a value into a member: text and lists grow, except for the role, which comes whole.
fn merge_member(object: &mut ObjectView, name: String, more: Value) {
    let comes_whole = name == "role";
    match (object.get_mut(&name), more) {
        (Some(Value::String(text)), Value::String(more)) if !comes_whole => text.push_str(&more),
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
        (Some(_), Value::Null) => {}
        (_, more) => {
            object.insert(name, more);
        }
    }
}

/// The lines of a complete answer.
pub(super) struct AnswerLines {
    /// The members that every line repeats: the model and its time.
    head: ObjectView,
    /// The members that only the last line has.
    last: ObjectView,
    frames: Vec<EventFrame>,
}

impl AnswerLines {
    /// Starts the lines for the body of a complete answer without its text.
    pub(super) fn new(body: ObjectView) -> Self {
        let (head, last) =
            body.into_iter().partition(|(name, _)| matches!(name.as_str(), "model" | "created_at"));
        Self { head, last, frames: vec![] }
    }

    /// Adds a line for each piece of a text.
    pub(super) fn add_pieces(&mut self, text: &str, line: impl Fn(&str) -> Value) {
        for piece in text_pieces(text) {
            self.add_line(line(piece));
        }
    }

    /// Adds a line that is not the last.
    pub(super) fn add_line(&mut self, fields: Value) {
        let mut line = self.head.clone();
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        line.insert("done".to_owned(), false.into());
        self.frames.push(EventFrame::unnamed(Value::Object(line)));
    }

    /// Returns all lines; the last one has all remaining members.
    pub(super) fn into_events(mut self, fields: Value) -> Vec<EventFrame> {
        let mut line = self.head;
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        line.extend(self.last);
        line.insert("done".to_owned(), true.into());
        self.frames.push(EventFrame::unnamed(Value::Object(line)));
        self.frames
    }
}

/// Takes a text out of an object; `None` if it has none.
pub(super) fn take_text(object: &mut ObjectView, name: &str) -> Option<String> {
    match object.get_mut(name) {
        Some(Value::String(text)) => {
            let text = std::mem::take(text);
            object.shift_remove(name);
            Some(text)
        }
        _ => None,
    }
}

/// The body of an answer with zero times; `words` holds the members with the content.
pub(super) fn write_body(draft: &AnswerDraft<'_>, words: Value) -> Value {
    let mut body = json!({ "model": draft.model, "created_at": "1970-01-01T00:00:00Z" });
    let last = json!({
        "done_reason": draft.finish_reason(&FINISH),
        "done": true,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": draft.usage.prompt_tokens,
        "prompt_eval_duration": 0,
        "eval_count": draft.usage.completion_tokens,
        "eval_duration": 0
    });
    if let (Value::Object(body), Value::Object(words), Value::Object(last)) =
        (&mut body, words, last)
    {
        body.extend(words);
        body.extend(last);
    }
    body
}
