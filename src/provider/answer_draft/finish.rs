//! Finish reasons, translated from one provider's vocabulary into another's.

/// An operation's words for why an answer ended, the usual word of each meaning first.
///
/// If a word is in two lists, the first of them is its meaning: Gemini, Responses and Ollama use
/// the same word for an end with tool calls as for any other.
#[derive(Debug)]
pub(crate) struct FinishWords {
    /// The answer is complete.
    pub(crate) stop: &'static [&'static str],
    /// The token limit was reached.
    pub(crate) length: &'static [&'static str],
    /// The answer requests tool calls.
    pub(crate) tools: &'static [&'static str],
    /// The answer was refused or filtered.
    pub(crate) filter: &'static [&'static str],
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishMeaning {
    /// The answer is complete.
    Stop,
    /// The token limit was reached.
    Length,
    /// The answer requests tool calls.
    Tools,
    /// The answer was refused or filtered.
    Filter,
}

impl FinishMeaning {
    const ALL: [Self; 4] = [Self::Stop, Self::Length, Self::Tools, Self::Filter];

    /// The meaning of a word in any of these vocabularies.
    pub(crate) fn from_word<'a>(
        word: &str,
        known: impl Iterator<Item = &'a FinishWords> + Clone,
    ) -> Option<Self> {
        // OpenAI's word for legacy function calls. The drafts have tool calls instead.
        if word == "function_call" {
            return Some(Self::Tools);
        }
        let in_any =
            |meaning: &Self| known.clone().any(|words| words.of_meaning(*meaning).contains(&word));
        Self::ALL.into_iter().find(in_any)
    }
}

impl FinishWords {
    const fn of_meaning(&self, meaning: FinishMeaning) -> &'static [&'static str] {
        match meaning {
            FinishMeaning::Stop => self.stop,
            FinishMeaning::Length => self.length,
            FinishMeaning::Tools => self.tools,
            FinishMeaning::Filter => self.filter,
        }
    }

    /// Returns the word for `found`, whose meaning is `meaning`: `found` itself if it is one of
    /// these words or its meaning is unknown, and the word for a normal end if there is none.
    pub(super) fn word_for<'a>(
        &self,
        found: Option<&'a str>,
        meaning: Option<FinishMeaning>,
        has_calls: bool,
    ) -> &'a str {
        let found = found.filter(|found| !found.is_empty());
        let ended = if has_calls { FinishMeaning::Tools } else { FinishMeaning::Stop };
        let meaning = match (found, meaning) {
            (None, _) => ended,
            (Some(found), _) if self.has_word(found) => return found,
            (Some(found), None) => return found,
            // Another provider may use its word for a normal end although there are calls; this one
            // names them.
            (Some(_), Some(FinishMeaning::Stop)) => ended,
            (Some(_), Some(meaning)) => meaning,
        };
        self.of_meaning(meaning).first().copied().or(found).unwrap_or_default()
    }

    fn has_word(&self, word: &str) -> bool {
        FinishMeaning::ALL.iter().any(|meaning| self.of_meaning(*meaning).contains(&word))
    }
}
