//! The names of takes, which are made when they are needed.

use std::fmt;

use super::matcher::Matcher;
use super::take::ReplayTake;
use loomrec_recording::EntryName;

/// The name of a take.
pub(super) struct TakeName<'a> {
    matcher: &'a Matcher,
    take: &'a ReplayTake,
}

impl TakeName<'_> {
    /// Returns the name.
    pub(super) fn entry_name(&self) -> EntryName {
        let source = self.matcher.sources.get(self.take.source_index());
        let name = source.and_then(|source| source.recording.name_at(self.take.name));
        name.unwrap_or_else(|| EntryName::Step(String::new()))
    }
}

impl fmt::Display for TakeName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry_name().fmt(f)
    }
}

impl Matcher {
    /// Returns the name that a take is stored under.
    pub fn name_of(&self, take: &ReplayTake) -> EntryName {
        self.take_name(take).entry_name()
    }

    /// Returns the key that people use for a take: see [`EntryName::take_key`].
    pub fn key_of(&self, take: &ReplayTake) -> String {
        self.name_of(take).take_key(take.number())
    }

    pub(super) fn take_name<'a>(&'a self, take: &'a ReplayTake) -> TakeName<'a> {
        TakeName { matcher: self, take }
    }
}
