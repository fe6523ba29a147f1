//! The building of packs.

use super::content_hash::ContentHash;
use super::state_index::{IndexedPack, PACK_SIZE, PackedEntry};

/// A pack that is being filled.
#[derive(Debug, Default)]
pub(crate) struct PackBuilder {
    bytes: Vec<u8>,
    entries: Vec<PackedEntry>,
}

/// The bytes of a pack, and what is in it.
#[derive(Debug)]
pub(crate) struct BuiltPack {
    pub(crate) bytes: Vec<u8>,
    pub(crate) indexed: IndexedPack,
}

impl PackBuilder {
    /// Whether an entry of this length still fits.
    pub(crate) fn has_room(&self, length: usize) -> bool {
        self.bytes.len() as u64 + length as u64 <= PACK_SIZE
    }

    /// Adds an entry, as it is stored.
    pub(crate) fn add(&mut self, entry: ContentHash, packed: &[u8]) {
        let (offset, length) = (self.bytes.len() as u64, packed.len() as u64);
        self.entries.push(PackedEntry { entry, offset, length });
        self.bytes.extend_from_slice(packed);
    }

    /// Closes the pack, and begins the next.
    pub(crate) fn take_pack(&mut self) -> BuiltPack {
        let Self { bytes, entries } = std::mem::take(self);
        let pack = ContentHash::from_bytes(&bytes);
        let indexed = IndexedPack { pack, bytes: bytes.len() as u64, entries };
        BuiltPack { bytes, indexed }
    }
}

impl BuiltPack {
    /// Returns the entries, each with its bytes.
    pub(crate) fn into_entries(self) -> Vec<(ContentHash, Vec<u8>)> {
        let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let entry = |packed: PackedEntry| {
            let bytes =
                self.bytes.get(at(packed.offset)..at(packed.end_offset())).unwrap_or_default();
            (packed.entry, bytes.to_vec())
        };
        self.indexed.entries.into_iter().map(entry).collect()
    }
}
