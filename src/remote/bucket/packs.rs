//! The packs of entries in a bucket, and the indexes of states.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use object_store::path::Path;

use super::RecordingBucket;
use crate::content_hash::ContentHash;
use crate::object_access::HashedForm;
use crate::packed_text::{LARGEST_MANIFEST, pack_text};
use crate::remote_error::RemoteError;
use crate::state_index::{IndexedPack, LARGEST_PACK, StateIndex};

/// What a bucket lists of entries: their objects, and packs, with their lengths in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryListing {
    pub(crate) objects: HashMap<ContentHash, u64>,
    pub(crate) packs: HashMap<ContentHash, u64>,
}

impl EntryListing {
    /// Whether a pack is there, and has the length that an index names.
    pub(crate) fn has_pack(&self, pack: &IndexedPack) -> bool {
        self.packs.get(&pack.pack) == Some(&pack.bytes)
    }

    /// Whether the object of an entry is there, and is not empty.
    pub(crate) fn has_object(&self, entry: &ContentHash) -> bool {
        self.objects.get(entry).is_some_and(|&bytes| bytes > 0)
    }
}

impl RecordingBucket {
    /// Lists the objects of entries, and the packs.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn list_entries(&self) -> Result<EntryListing, RemoteError> {
        let (objects, packs) =
            futures_util::try_join!(self.list_hashes("objects"), self.list_hashes("packs"))?;
        Ok(EntryListing { objects, packs })
    }

    async fn list_hashes(&self, part: &str) -> Result<HashMap<ContentHash, u64>, RemoteError> {
        let listed = self.objects.list_objects(part).await?;
        let named = listed
            .into_iter()
            .filter_map(|object| Some((ContentHash::of_path(&object.location)?, object.size)));
        Ok(named.collect())
    }

    /// Makes sure that a pack is there and right. One that is old is written again. Returns whether
    /// it was written; `is_listed` says that it need not be created.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn put_pack(
        &self,
        hash: &ContentHash,
        bytes: Vec<u8>,
        is_listed: bool,
    ) -> Result<bool, RemoteError> {
        let (path, named) = (self.pack_path(hash), (hash, HashedForm::Bytes));
        match is_listed {
            true => self.objects.renew_object(&path, named, bytes.into()).await,
            false => self.objects.ensure_object(&path, named, bytes.into()).await.map(|()| true),
        }
    }

    /// Reads a pack; `None` if the store does not have it.
    ///
    /// # Errors
    /// The store fails, or the pack has more bytes than any.
    pub(crate) async fn get_pack(&self, hash: &ContentHash) -> Result<Option<Bytes>, RemoteError> {
        let found = self.objects.get_if_there(&self.pack_path(hash), LARGEST_PACK).await?;
        Ok(found.map(|(bytes, _)| bytes))
    }

    /// Returns the path of a pack, for messages too.
    pub(crate) fn pack_path(&self, hash: &ContentHash) -> Path {
        self.objects.object_path(&format!("packs/{}", hash.digits()))
    }

    /// Reads the index of a state; `None` if the store has none, so that all entries are objects.
    ///
    /// # Errors
    /// The store fails. [`RemoteError::Object`] if the index cannot be used.
    pub(crate) async fn read_index(
        &self,
        state: &ContentHash,
    ) -> Result<Option<StateIndex>, RemoteError> {
        let path = self.index_path(state);
        let Some((bytes, _)) = self.objects.get_if_there(&path, LARGEST_MANIFEST).await? else {
            return Ok(None);
        };
        let read = StateIndex::from_packed(&bytes).map_err(|error| RemoteError::Object {
            path: path.to_string(),
            url: self.objects.url.clone(),
            problem: error.to_string(),
        });
        read.map(Some)
    }

    /// Writes the index of a state, whatever is there: the state may have another layout now.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn write_index(
        &self,
        state: &ContentHash,
        index: &StateIndex,
    ) -> Result<(), RemoteError> {
        let text = index.to_text();
        let bytes = text.len() as u64;
        if bytes > LARGEST_MANIFEST {
            let (what, url) = ("the index of the state".to_owned(), self.objects.url.clone());
            return Err(RemoteError::TooLarge { what, url, bytes, limit: LARGEST_MANIFEST });
        }
        let packed = pack_text(&text).map_err(RemoteError::at_path("the text of an index"))?;
        self.objects.replace_object(&self.index_path(state), packed.into()).await
    }

    /// Takes entries out of the index of a state.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn remove_from_index(
        &self,
        state: &ContentHash,
        index: &StateIndex,
        entries: &HashSet<ContentHash>,
    ) -> Result<(), RemoteError> {
        match entries.iter().any(|entry| index.find_entry(entry).is_some()) {
            false => Ok(()),
            true => {
                let index = index.filtered(|_| true, |entry| !entries.contains(entry));
                self.write_index(state, &index).await
            }
        }
    }

    fn index_path(&self, state: &ContentHash) -> Path {
        self.objects.object_path(&format!("indexes/{}", state.digits()))
    }
}
