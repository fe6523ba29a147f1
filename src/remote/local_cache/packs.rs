//! The packs and indexes of the cache.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use super::{LocalCache, write_whole};
use crate::content_hash::ContentHash;
use crate::packed_text::{LARGEST_MANIFEST, pack_text};
use crate::remote_error::RemoteError;
use crate::state_index::{IndexedPack, PackedEntry, StateIndex};

impl LocalCache {
    /// Whether a pack is there. Its bytes are not checked.
    pub(crate) fn has_pack(&self, pack: &IndexedPack) -> bool {
        let found = fs::metadata(self.pack_path(&pack.pack));
        found.is_ok_and(|found| found.is_file() && found.len() == pack.bytes)
    }

    /// Returns an entry in a pack, as it is stored. It has not been checked.
    pub(crate) fn unchecked_slice(
        &self,
        pack: &IndexedPack,
        place: &PackedEntry,
    ) -> Option<Vec<u8>> {
        if !self.has_pack(pack) {
            return None;
        }
        let mut file = fs::File::open(self.pack_path(&pack.pack)).ok()?;
        file.seek(SeekFrom::Start(place.offset)).ok()?;
        let mut bytes = vec![0; usize::try_from(place.length).ok()?];
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Keeps a pack.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn put_pack(&self, pack: &ContentHash, bytes: &[u8]) -> Result<(), RemoteError> {
        let path = self.pack_path(pack);
        write_whole(&path, bytes).map_err(RemoteError::at_path(path))
    }

    /// Removes a pack.
    pub(crate) fn drop_pack(&self, pack: &ContentHash) {
        // If it cannot be removed, the next attempt to use it fails in the same way.
        let _ = fs::remove_file(self.pack_path(pack));
    }

    fn pack_path(&self, pack: &ContentHash) -> PathBuf {
        self.folder.join("packs").join(pack.digits())
    }

    /// Returns the index that the cache has for a state, or an empty index. It only says where to look
    /// for entries.
    pub(crate) fn state_index(&self, state: &ContentHash) -> StateIndex {
        let packed = loomrec_os::read_input(&self.index_path(state), LARGEST_MANIFEST);
        let index = packed.ok().and_then(|packed| StateIndex::from_packed(&packed).ok());
        index.unwrap_or_default()
    }

    /// Keeps the index of a state.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn put_index(
        &self,
        state: &ContentHash,
        index: &StateIndex,
    ) -> Result<(), RemoteError> {
        let path = self.index_path(state);
        let written = pack_text(&index.to_text()).and_then(|packed| write_whole(&path, &packed));
        written.map_err(RemoteError::at_path(path))
    }

    /// Removes the index of a state.
    pub(crate) fn drop_index(&self, state: &ContentHash) {
        // What is not there need not be removed.
        let _ = fs::remove_file(self.index_path(state));
    }

    fn index_path(&self, state: &ContentHash) -> PathBuf {
        self.folder.join("indexes").join(state.digits())
    }
}
