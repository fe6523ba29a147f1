//! Finish reasons of Anthropic's messages.

use crate::answer_draft::FinishWords;

/// Anthropic's words for why an answer ended.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["end_turn", "stop_sequence"],
    length: &["max_tokens", "model_context_window_exceeded"],
    tools: &["tool_use"],
    filter: &["refusal"],
};
