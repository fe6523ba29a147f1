//! Finish reasons of OpenAI's answers.

use crate::answer_draft::FinishWords;

/// OpenAI's words for why an answer ended, and those of its dialects.
pub(crate) static FINISH: FinishWords = FinishWords {
    stop: &["stop", "eos"],
    length: &["length", "model_length"],
    tools: &["tool_calls"],
    filter: &["content_filter"],
};
