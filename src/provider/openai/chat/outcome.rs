//! How chat completions end and fail, in OpenAI's dialect and those of its followers.
//!
//! A stream has ended with `[DONE]`, or once each of its choices has a finish reason: many servers
//! send only one of the two.

use crate::answer_outcome::{AnswerEvent, JudgedAnswer, OutcomeRules, StreamProgress};
use crate::error_text::error_in;
use crate::json_view::{JsonView, items, member_text, token_count};
use loomrec_identity::Json;

pub(crate) const OUTCOME: OutcomeRules = OutcomeRules {
    words: &["\"insufficient_system_resource\""],
    document: |json| {
        let failed =
            error_in(json).or_else(|| items(json, "choices").iter().find_map(failure_text));
        failed.map(|text| JudgedAnswer::failed(&text))
    },
    event: Some(take_event),
    end_mark: "`[DONE]` or a finish reason",
    ..OutcomeRules::JSON
};

/// Finish reasons of choices that failed: Mistral's and OpenRouter's, and DeepSeek's.
const FAILED: [&str; 2] = ["error", "insufficient_system_resource"];

/// The members of which each chunk has some.
const KNOWN: [&str; 5] = ["choices", "usage", "object", "id", "model"];

/// Takes a chunk.
pub(crate) fn take_event(progress: &mut StreamProgress, event: &AnswerEvent<'_>) {
    if event.is_done() {
        return progress.note_end();
    }
    event.read_json(|json| take_chunk(progress, json));
}

/// Takes the JSON of a chunk.
pub(crate) fn take_chunk(progress: &mut StreamProgress, json: &Json<'_>) {
    if let Some(text) = error_in(json) {
        return progress.note_failure(text);
    }
    for choice in items(json, "choices") {
        if let Some(text) = failure_text(choice) {
            progress.note_failure(text);
        }
        let is_finished = choice.member("finish_reason").is_some_and(|reason| !reason.is_nothing());
        progress.note_choice(token_count(choice, "index").unwrap_or(0), is_finished);
    }
    if KNOWN.iter().any(|name| json.get(name).is_some()) {
        progress.note_known();
    }
}

/// The failure of a choice.
fn failure_text(choice: &Json<'_>) -> Option<String> {
    let reason = || {
        let reason = member_text(choice, "finish_reason")?;
        FAILED.contains(&&*reason).then(|| format!("finish reason `{reason}`"))
    };
    error_in(choice).or_else(reason)
}
