//! An answer without a provider's shape, to be written in any of them: from an AgentLoom
//! entry, a script, or as a placeholder.
//!
//! Fields that the answer does not give are filled in as the SDKs expect them, always in the
//! same way: ids come from a seed, times are zero, absent usage counts zero tokens.

mod finish;

use serde_json::Value;
use sha2::{Digest, Sha256};

pub(super) use finish::{FinishMeaning, FinishWords};

use super::{Answer, TokenUsage, ToolCall};

/// What an answer says, ready to be put into any shape.
pub(super) struct AnswerDraft<'a> {
    pub(super) answer: &'a Answer,
    seed: &'a str,
    /// The model's name, or that which was asked for, or `""`.
    pub(super) model: &'a str,
    /// The calls, their arguments an object each.
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: TokenUsage,
    /// What its finish reason means, where that is known.
    meaning: Option<FinishMeaning>,
}

impl<'a> AnswerDraft<'a> {
    pub(super) fn of(
        answer: &'a Answer,
        asked: Option<&'a str>,
        seed: &'a str,
        meaning: Option<FinishMeaning>,
    ) -> Self {
        let call =
            |call: &ToolCall| ToolCall::from_doc(&call.id, &call.name, Some(&call.arguments));
        Self {
            answer,
            seed,
            model: answer.model.as_deref().or(asked).unwrap_or(""),
            calls: answer.tool_calls.iter().map(call).collect(),
            usage: answer.usage.unwrap_or_default(),
            meaning,
        }
    }

    /// The answer's own id.
    pub(super) fn id(&self, prefix: &str) -> String {
        id(prefix, 0, self.seed)
    }

    /// An id of something at `place` that is not a call.
    pub(super) fn id_at(&self, prefix: &str, place: usize) -> String {
        id(prefix, place, self.seed)
    }

    /// The id of the call at `place`: its own where it has one.
    pub(super) fn call_id(&self, prefix: &str, place: usize, call: &ToolCall) -> String {
        if call.id.is_empty() { id(prefix, place, self.seed) } else { call.id.clone() }
    }

    pub(super) fn finish(&self, words: &FinishWords) -> &'a str {
        let found = self.answer.finish_reason.as_deref();
        words.word(found, self.meaning, !self.calls.is_empty())
    }

    /// Whether text stands beside the calls, or is all there is.
    pub(super) fn has_text(&self) -> bool {
        !self.answer.content.is_empty() || self.calls.is_empty()
    }
}

/// The arguments as OpenAI sends them. Text that is no JSON object was kept under
/// `_raw` when it was read, and goes out as it was.
pub(super) fn arguments_text(call: &ToolCall) -> String {
    if let Some(Value::String(raw)) = call.arguments.get("_raw")
        && ToolCall::from_text("", "", raw).arguments == call.arguments
    {
        return raw.clone();
    }
    call.arguments.to_string()
}

/// An id of 24 hex digits behind its prefix: the same for the same seed and place.
pub(super) fn id(prefix: &str, place: usize, seed: &str) -> String {
    let digest = Sha256::digest(format!("loomrec id\n{prefix}\n{place}\n{seed}"));
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{hex}")
}

/// The most characters of a piece: text without blanks is cut here.
pub(super) const LONGEST_PIECE: usize = 24;

/// Cuts text into word-sized pieces, each with the blanks that follow it; their
/// concatenation is the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
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
