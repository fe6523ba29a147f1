//! Puts the word for why an answer ended from one provider's vocabulary into
//! another's.

/// An operation's words for why an answer ended, the usual one of each meaning first.
///
/// A word that stands in two places means the first of them: Gemini, Responses and
/// Ollama end a turn with tool calls as they end any other.
#[derive(Debug)]
pub(crate) struct FinishWords {
    /// It said all it had to say.
    pub(crate) stop: &'static [&'static str],
    /// It ran out of tokens.
    pub(crate) length: &'static [&'static str],
    /// It asks for tools to be called.
    pub(crate) tools: &'static [&'static str],
    /// It was refused or filtered.
    pub(crate) filter: &'static [&'static str],
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishMeaning {
    /// It said all it had to say.
    Stop,
    /// It ran out of tokens.
    Length,
    /// It asks for tools to be called.
    Tools,
    /// It was refused or filtered.
    Filter,
}

impl FinishMeaning {
    const ALL: [Self; 4] = [Self::Stop, Self::Length, Self::Tools, Self::Filter];

    /// What a word means in any of these vocabularies.
    pub(crate) fn of<'a>(
        word: &str,
        known: impl Iterator<Item = &'a FinishWords> + Clone,
    ) -> Option<Self> {
        // The word of OpenAI's calls before there were tools; what is built has tools.
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

    /// The word for `found`, which has this `meaning` somewhere: `found` itself where it is
    /// one of these words or of nobody we know, and a normal end where there is none.
    pub(super) fn word<'a>(
        &self,
        found: Option<&'a str>,
        meaning: Option<FinishMeaning>,
        has_calls: bool,
    ) -> &'a str {
        let found = found.filter(|found| !found.is_empty());
        let ended = if has_calls { FinishMeaning::Tools } else { FinishMeaning::Stop };
        let meaning = match (found, meaning) {
            (None, _) => ended,
            (Some(found), _) if self.has(found) => return found,
            (Some(found), None) => return found,
            // Another provider's normal end hides the calls that this one names.
            (Some(_), Some(FinishMeaning::Stop)) => ended,
            (Some(_), Some(meaning)) => meaning,
        };
        self.of_meaning(meaning).first().copied().or(found).unwrap_or_default()
    }

    fn has(&self, word: &str) -> bool {
        FinishMeaning::ALL.iter().any(|meaning| self.of_meaning(*meaning).contains(&word))
    }
}
