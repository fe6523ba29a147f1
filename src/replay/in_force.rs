//! What a replay is answered under, beside the recorded requests themselves: the rules
//! of each recording, what repeats, and entries that cannot be checked.

use super::matcher::Matcher;
use super::pool::Repeat;
use super::take::Take;
use crate::identity::IdentityRules;

/// The terms that one recording is replayed under.
#[derive(Clone, Copy, Debug)]
pub struct SourceTerms<'a> {
    /// The recording, as the user named it.
    pub label: &'a str,
    /// The rules that stand in it.
    pub rules: &'a IdentityRules,
    /// What a further identical call gets.
    pub repeat: Repeat,
    /// Whether loomrec has written it.
    pub is_loomrec: bool,
}

impl Matcher {
    /// The terms of each recording, in the order they were given.
    pub fn terms(&self) -> impl Iterator<Item = SourceTerms<'_>> {
        self.sources.iter().zip(&self.repeat).map(|(source, repeat)| {
            let meta = source.recording.meta();
            SourceTerms {
                label: &source.label,
                rules: meta.rules(),
                repeat: *repeat,
                is_loomrec: meta.is_loomrec(),
            }
        })
    }

    /// The takes that may answer another request than their entries show.
    pub fn unchecked(&self) -> impl Iterator<Item = &Take> {
        self.takes.iter().filter(|take| take.is_unchecked())
    }
}
