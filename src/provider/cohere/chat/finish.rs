//! Finish reasons of Cohere's answers.

use crate::answer_draft::FinishWords;

/// Cohere's words for why an answer ended.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["COMPLETE", "STOP_SEQUENCE"],
    length: &["MAX_TOKENS", "ERROR_LIMIT"],
    tools: &["TOOL_CALL"],
    filter: &["ERROR_TOXIC"],
};
