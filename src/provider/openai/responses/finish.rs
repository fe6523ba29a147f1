//! Why an answer of Responses ended.

use crate::answer_draft::FinishWords;

/// A word for why an answer ended is a status, or why it is incomplete.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["completed"],
    length: &["max_output_tokens"],
    tools: &["completed"],
    filter: &["content_filter"],
};
