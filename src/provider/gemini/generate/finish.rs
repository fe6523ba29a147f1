//! Finish reasons of generated content.

use crate::answer_draft::FinishWords;

/// Gemini's words for why an answer ended.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["STOP"],
    length: &["MAX_TOKENS"],
    tools: &["STOP"],
    filter: &["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"],
};
