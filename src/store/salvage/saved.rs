//! The entries that were salvaged so far.

use loomrec_recording::EntryName;

/// An entry that can be read.
#[derive(Clone, Debug)]
pub(super) struct SalvagedPart {
    /// The number of its file.
    pub(super) file: usize,
    pub(super) name: EntryName,
    pub(super) take: usize,
    pub(super) at: u64,
    pub(super) length: u64,
}
