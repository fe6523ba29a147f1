//! How responses end and fail.
//!
//! A response that is incomplete, for a reason, is an answer that has ended. One that failed or was
//! cancelled is not.

use super::end::is_terminal;
use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::json_view::member_text;
use loomrec_identity::Json;

pub(super) const OUTCOME: OutcomeRules = OutcomeRules {
    words: &["failed\"", "cancelled\""],
    document: |json| failure_text(json).map(|text| JudgedAnswer::failed(&text)),
    event: Some(take_event),
    end_mark: "`response.completed`",
    ..OutcomeRules::JSON
};

/// Takes an event. A terminal event that is no success has the response with its error.
fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    let kind = event.kind();
    match &*kind {
        "error" => progress.note_failure(event.error_text()),
        "response.failed" | "response.cancelled" => {
            let text =
                event.read_json(|json| json.get("response").and_then(failure_text)).flatten();
            progress.note_failure(text.unwrap_or_else(|| kind.clone().into_owned()));
        }
        kind if is_terminal(kind) => progress.note_end(),
        kind if kind.starts_with("response.") => progress.note_known(),
        "" => {
            if let Some(text) = event.read_json(error_in).flatten() {
                progress.note_failure(text);
            }
        }
        _ => {}
    }
}

/// The failure that a response reports.
fn failure_text(response: &Json<'_>) -> Option<String> {
    let status = member_text(response, "status").unwrap_or_default();
    let is_failed = matches!(&*status, "failed" | "cancelled");
    error_in(response).or_else(|| is_failed.then(|| format!("status `{status}`")))
}
