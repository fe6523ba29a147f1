//! How Cohere's chats of both versions end and fail.

use super::shape::FAILED;
use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::{error_in, said};
use crate::json_view::{nested, text};
use loomrec_identity::Json;

pub(super) const OUTCOME: OutcomeRules = OutcomeRules {
    words: &["\"ERROR\"", "\"TIMEOUT\""],
    document: |json| failure(json).map(|text| JudgedAnswer::failed(&text)),
    event: Some(|progress, event| {
        event.read(|json| take(progress, event, json));
    }),
    end_mark: "`message-end`",
    ..OutcomeRules::JSON
};

/// Takes an event of either version.
fn take(progress: &mut StreamProgress, event: &AnswerEvent<'_>, json: &Json<'_>) {
    let named = || event.name.map(Into::into);
    let kind = text(json, "type").or_else(|| text(json, "event_type")).or_else(named);
    match kind.as_deref() {
        Some("message-end" | "stream-end") => {
            let end = json.get("delta").unwrap_or(json);
            match failure(end).or_else(|| nested(end, &["response"]).and_then(failure)) {
                Some(text) => progress.fail(text),
                None => progress.end(),
            }
        }
        Some("error") => progress.fail(event.error()),
        Some(_) => progress.known(),
        // An error replaces an event and has no type of its own.
        None => {
            if let Some(text) = error_in(json).or_else(|| said(json)) {
                progress.fail(text);
            }
        }
    }
}

/// The failure that an answer, or the end of a stream, reports.
fn failure(json: &Json<'_>) -> Option<String> {
    let reason = || {
        let reason = text(json, "finish_reason")?;
        let is_failed = [FAILED, "TIMEOUT"].contains(&&*reason);
        is_failed.then(|| format!("finish reason `{reason}`"))
    };
    error_in(json).or_else(reason)
}
