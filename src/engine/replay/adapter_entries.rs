//! The entries that the hashes of adapters can find.

use loomrec_recording::{Entry, EntryName};

/// Which entries the hashes of adapters can find.
#[derive(Debug, Default)]
pub(super) struct AdapterEntries {
    /// Whether any entry has a hash and no request.
    any: bool,
    /// How many entries show nothing but the hash that they are kept under. It may be
    /// made of the messages alone.
    pub(super) bare: usize,
    /// Whether the hash of the messages alone may find an entry.
    pub(super) allows_messages: bool,
}

impl AdapterEntries {
    /// Notes an entry.
    pub(super) fn note_entry(&mut self, name: &EntryName, entry: &Entry) {
        if entry.has_request() {
            return;
        }
        let is_keyed = matches!(name, EntryName::Hash(_));
        self.any |= is_keyed || entry.request_hash.is_some();
        self.bare += usize::from(is_keyed && entry.request_hash.is_none());
    }

    /// Whether there are entries to look for.
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }
}
