//! How Cohere's chats of both versions end and fail.

use super::shape::FAILED;
use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::{error_in, object_text};
use crate::json_view::{member_text, nested_member};
use loomrec_identity::Json;

pub(super) const OUTCOME: OutcomeRules = OutcomeRules {
    words: &["\"ERROR\"", "\"TIMEOUT\""],
    document: |json| failure_text(json).map(|text| JudgedAnswer::failed(&text)),
    event: Some(|progress, event| {
        event.read_json(|json| take_event(progress, event, json));
    }),
    end_mark: "`message-end`",
    ..OutcomeRules::JSON
};

/// Takes an event of either version.
fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>, json: &Json<'_>) {
    let named = || event.name.map(Into::into);
    let kind = member_text(json, "type").or_else(|| member_text(json, "event_type")).or_else(named);
    match kind.as_deref() {
        Some("message-end" | "stream-end") => {
            let end = json.get("delta").unwrap_or(json);
            match failure_text(end)
                .or_else(|| nested_member(end, &["response"]).and_then(failure_text))
            {
                Some(text) => progress.note_failure(text),
                None => progress.note_end(),
            }
        }
        Some("error") => progress.note_failure(event.error_text()),
        Some(_) => progress.note_known(),
        // An error replaces an event and has no type of its own.
        None => {
            if let Some(text) = error_in(json).or_else(|| object_text(json)) {
                progress.note_failure(text);
            }
        }
    }
}

/// The failure that an answer, or the end of a stream, reports.
fn failure_text(json: &Json<'_>) -> Option<String> {
    let reason = || {
        let reason = member_text(json, "finish_reason")?;
        let is_failed = [FAILED, "TIMEOUT"].contains(&&*reason);
        is_failed.then(|| format!("finish reason `{reason}`"))
    };
    error_in(json).or_else(reason)
}
