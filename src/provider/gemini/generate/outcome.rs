//! How Gemini's answers end and fail: each candidate has a finish reason, or the prompt was blocked.

use super::finish::finish_word;
use crate::answer_outcome::{AnswerEvent, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::json_view::{items, nested_member, token_count};
use loomrec_identity::Json;

pub(super) const OUTCOME: OutcomeRules =
    OutcomeRules { event: Some(take_event), end_mark: "a finish reason", ..OutcomeRules::JSON };

/// The members of which each chunk has some.
const KNOWN: [&str; 4] = ["candidates", "promptFeedback", "usageMetadata", "responseId"];

fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    event.read_json(|json| take_chunk(progress, json));
}

fn take_chunk(progress: &mut StreamProgress, json: &Json<'_>) {
    if let Some(text) = error_in(json) {
        return progress.note_failure(text);
    }
    for candidate in items(json, "candidates") {
        let is_finished = candidate.get("finishReason").and_then(finish_word).is_some();
        progress.note_choice(token_count(candidate, "index").unwrap_or(0), is_finished);
    }
    if nested_member(json, &["promptFeedback", "blockReason"])
        .is_some_and(|reason| reason.as_str().is_some())
    {
        progress.note_end();
    }
    if KNOWN.iter().any(|name| json.get(name).is_some()) {
        progress.note_known();
    }
}
