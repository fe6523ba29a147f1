//! The entries of a state in the cache: as objects, or in packs.

use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::packed_text::{LARGEST_ENTRY, check_text};
use super::state_index::StateIndex;

/// The entries of a state in the cache.
#[derive(Clone, Copy)]
pub(crate) struct CachedEntries<'a> {
    pub(crate) cache: &'a LocalCache,
    /// Says in which packs they are.
    pub(crate) index: &'a StateIndex,
}

impl CachedEntries<'_> {
    /// Whether an entry is there. Its bytes are not checked.
    pub(crate) fn has_entry(&self, entry: &ContentHash) -> bool {
        let is_in_pack =
            || self.index.find_entry(entry).is_some_and(|(pack, _)| self.cache.has_pack(pack));
        self.cache.has_object(entry) || is_in_pack()
    }

    /// Returns an entry, as it is stored. It has not been checked.
    pub(crate) fn unchecked_entry(&self, entry: &ContentHash) -> Option<Vec<u8>> {
        self.cache.unchecked_object(entry).or_else(|| self.packed_slice(entry))
    }

    /// Returns an entry, as it is stored, if it is there and right. What is damaged is removed.
    pub(crate) fn checked_entry(&self, entry: &ContentHash) -> Option<Vec<u8>> {
        if let Some(packed) = self.cache.checked_object(entry) {
            return Some(packed);
        }
        let packed = self.packed_slice(entry)?;
        if check_text(&packed, entry, LARGEST_ENTRY).is_ok() {
            return Some(packed);
        }
        self.remove(entry);
        None
    }

    /// Removes an entry, and the pack that it is in.
    pub(crate) fn remove(&self, entry: &ContentHash) {
        self.cache.drop_object(entry);
        if let Some((pack, _)) = self.index.find_entry(entry) {
            self.cache.drop_pack(&pack.pack);
        }
    }

    fn packed_slice(&self, entry: &ContentHash) -> Option<Vec<u8>> {
        let (pack, place) = self.index.find_entry(entry)?;
        self.cache.unchecked_slice(pack, place)
    }
}
