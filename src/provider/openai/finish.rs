//! Why an answer of OpenAI's ended.

use crate::provider::answer_draft::FinishWords;

/// OpenAI's words for why an answer ended, and those of its dialects.
pub(in crate::provider) static FINISH: FinishWords = FinishWords {
    stop: &["stop", "eos"],
    length: &["length", "model_length"],
    tools: &["tool_calls"],
    filter: &["content_filter"],
};
