//! Finish reasons of generated content.

use std::borrow::Cow;

use crate::answer_draft::FinishWords;
use crate::json_view::JsonView;

/// Gemini's words for why an answer ended.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["STOP"],
    length: &["MAX_TOKENS"],
    tools: &["STOP"],
    filter: &["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"],
};

/// The words that both of Google's APIs number the same, from 1. From 6 on, their numbers differ.
const NUMBERED: [&str; 5] = ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"];

/// The word of a candidate's `finishReason`; `None` if it says that the candidate has not ended.
/// Clients of Google's RPC write the number instead of the word; 0 means that there is no reason yet.
pub(super) fn finish_word<D: JsonView>(reason: &D) -> Option<Cow<'_, str>> {
    let number = || match usize::try_from(reason.as_whole_number()?).ok()? {
        0 => None,
        number => Some(match NUMBERED.get(number - 1) {
            Some(word) => Cow::Borrowed(*word),
            None => Cow::Owned(number.to_string()),
        }),
    };
    reason.as_text().or_else(number)
}
