//! How interactions end and fail.

use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::json_view::member_text;
use loomrec_identity::Json;

pub(super) const OUTCOME: OutcomeRules = OutcomeRules {
    words: &["\"failed\"", "\"cancelled\""],
    document: |json| failure_text(json).map(|text| JudgedAnswer::failed(&text)),
    event: Some(take_event),
    end_mark: "`interaction.completed`",
    ..OutcomeRules::JSON
};

/// Whether an event of this type ends a stream; the second is that of older revisions.
pub(super) fn is_end(kind: &str) -> bool {
    matches!(kind, "interaction.completed" | "interaction.complete")
}

fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    event.read_json(|json| {
        if let Some(text) =
            error_in(json).or_else(|| json.get("interaction").and_then(failure_text))
        {
            return progress.note_failure(text);
        }
        match member_text(json, "event_type").as_deref() {
            Some(kind) if is_end(kind) => progress.note_end(),
            Some("error") => progress.note_failure("error"),
            Some(_) => progress.note_known(),
            None => {}
        }
    });
}

/// The failure that an interaction reports.
fn failure_text(interaction: &Json<'_>) -> Option<String> {
    let status = member_text(interaction, "status").unwrap_or_default();
    let is_failed = matches!(&*status, "failed" | "cancelled");
    error_in(interaction).or_else(|| is_failed.then(|| format!("status `{status}`")))
}
