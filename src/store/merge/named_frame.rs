//! The frames and the takes of one name, and where they are.

use loomrec_recording::CallScope;
use loomrec_recording::log_codec::TakePrecedence;

/// The file that holds an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryOrigin {
    /// The recording itself.
    File,
    /// A log, by its number; the older one is first.
    Log(usize),
}

/// The place of an entry in the [`Recording`](crate::Recording) it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeRef {
    pub(crate) origin: EntryOrigin,
    pub(crate) at: u64,
    pub(crate) length: u64,
}

impl TakeRef {
    /// Returns the number of bytes of the entry there.
    pub fn byte_length(&self) -> u64 {
        self.length
    }
}

/// A frame among those of its name.
#[derive(Clone, Debug)]
pub(crate) struct NamedFrame {
    pub(crate) precedence: TakePrecedence,
    /// The scope of the takes that it may replace.
    pub(crate) scope: CallScope,
    pub(crate) time: Option<String>,
    pub(crate) place: TakeRef,
}
