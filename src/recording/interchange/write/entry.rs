//! An entry on its way into another tool's format.

use crate::Entry;

/// An entry that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct EntryToWrite<'a> {
    /// What it is kept under, with its take.
    pub key: &'a str,
    /// The step id it is kept under.
    pub step: Option<&'a str>,
    /// The entry.
    pub entry: &'a Entry,
}

/// An entry, written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenEntry {
    /// Its text, without what stands between entries.
    pub text: String,
    /// What of it was lost, in a few words each.
    pub lost: Vec<&'static str>,
}
