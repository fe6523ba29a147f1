//! An entry for export to another tool's format.

use loomrec_recording::Entry;

/// Listed as lost if an answer has trailers.
pub(in super::super) const TRAILERS: &str = "the trailers of answers";

/// An entry to be written.
#[derive(Clone, Copy, Debug)]
pub struct EntryToWrite<'a> {
    /// The name and take under which it is kept.
    pub key: &'a str,
    /// The step id under which it is kept.
    pub step: Option<&'a str>,
    /// The entry.
    pub entry: &'a Entry,
}

/// The text of a written entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenEntry {
    /// Its text, without the separator between entries.
    pub text: String,
    /// The parts that were lost, in a few words each.
    pub lost: Vec<&'static str>,
}
