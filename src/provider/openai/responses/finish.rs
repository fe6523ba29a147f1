//! Finish reasons of Responses' answers.

use crate::answer_draft::FinishWords;

/// The words are statuses, and reasons why an answer is incomplete.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["completed"],
    length: &["max_output_tokens", "incomplete"],
    tools: &["completed"],
    filter: &["content_filter"],
};
