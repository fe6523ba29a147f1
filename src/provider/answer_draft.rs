//! An answer that is not in the format of any provider yet, to be written in any of them: from a
//! plain entry, a script, or as a placeholder.
//!
//! Fields that the answer does not give are filled in as the SDKs expect them, always in the same
//! way: ids are made from a seed, times are zero, absent usage counts zero tokens.

mod finish;

use serde_json::Value;
use sha2::{Digest, Sha256};

pub(super) use finish::{FinishMeaning, FinishWords};

use super::{Answer, TokenUsage, ToolCall};

/// The content of an answer, ready to be written in any format.
pub(super) struct AnswerDraft<'a> {
    pub(super) answer: &'a Answer,
    seed: &'a str,
    /// The model's name, else that of the request, else `""`.
    pub(super) model: &'a str,
    /// The calls, each with an object as its arguments.
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: TokenUsage,
    /// The meaning of its finish reason, if it is known.
    meaning: Option<FinishMeaning>,
}

impl<'a> AnswerDraft<'a> {
    pub(super) fn from_answer(
        answer: &'a Answer,
        requested_model: Option<&'a str>,
        seed: &'a str,
        meaning: Option<FinishMeaning>,
    ) -> Self {
        let call =
            |call: &ToolCall| ToolCall::from_doc(&call.id, &call.name, Some(&call.arguments));
        Self {
            answer,
            seed,
            model: answer.model.as_deref().or(requested_model).unwrap_or(""),
            calls: answer.tool_calls.iter().map(call).collect(),
            usage: answer.usage.unwrap_or_default(),
            meaning,
        }
    }

    /// Makes the id of the answer itself.
    pub(super) fn answer_id(&self, prefix: &str) -> String {
        make_id(prefix, 0, self.seed)
    }

    /// Makes the id of something at `place` that is not a call.
    pub(super) fn id_at(&self, prefix: &str, place: usize) -> String {
        make_id(prefix, place, self.seed)
    }

    /// The id of the call at `place`: its own, or a new one if it has none.
    pub(super) fn call_id(&self, prefix: &str, place: usize, call: &ToolCall) -> String {
        if call.id.is_empty() { make_id(prefix, place, self.seed) } else { call.id.clone() }
    }

    pub(super) fn finish_reason(&self, words: &FinishWords) -> &'a str {
        let found = self.answer.finish_reason.as_deref();
        words.word_for(found, self.meaning, !self.calls.is_empty())
    }

    /// Whether the answer has text: besides the calls, or because there are no calls.
    pub(super) fn has_text(&self) -> bool {
        !self.answer.content.is_empty() || self.calls.is_empty()
    }
}

/// The arguments as OpenAI sends them. Text that is no JSON object was put under `_raw` by the
/// reader, and is written unchanged.
pub(super) fn arguments_text(call: &ToolCall) -> String {
    if let Some(Value::String(raw)) = call.arguments.get("_raw")
        && ToolCall::from_text("", "", raw).arguments == call.arguments
    {
        return raw.clone();
    }
    call.arguments.to_string()
}

/// Makes an id: the prefix and 24 hex digits, the same for the same seed and place.
pub(super) fn make_id(prefix: &str, place: usize, seed: &str) -> String {
    let digest = Sha256::digest(format!("loomrec id\n{prefix}\n{place}\n{seed}"));
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{hex}")
}

/// The most characters in a piece: text without blanks is cut here.
pub(super) const LONGEST_PIECE: usize = 24;

/// Cuts text into word-sized pieces, each with the blanks that follow it; their
/// concatenation is the text.
pub(super) fn text_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut blank = false;
        let end = rest.char_indices().enumerate().find(|(place, (_, next))| {
            let word_ends = blank && !next.is_whitespace();
            blank = next.is_whitespace();
            word_ends || *place >= LONGEST_PIECE
        });
        let end = end.map_or(rest.len(), |(_, (at, _))| at);
        let (piece, left) = rest.split_at(end);
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests;
