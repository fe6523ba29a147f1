//! The composing of a recording: its entries are downloaded into the cache, and written to a file.

use std::collections::BTreeMap;
use std::path::Path;

use loomrec_recording::entry::EntryReadError;
use loomrec_recording::{Entry, EntryName};

use super::bucket::RecordingBucket;
use super::cached_entries::CachedEntries;
use super::content_hash::ContentHash;
use super::download_progress::OnFetchProgress;
use super::entry_download::EntryDownload;
use super::local_cache::LocalCache;
use super::manifest::{ManifestTake, StateManifest};
use super::packed_text::{LARGEST_ENTRY, check_text, unpack_text};
use super::remote_error::RemoteError;
use super::state_index::StateIndex;
use super::state_loader::read_meta;

/// A recording that is composed.
pub(crate) struct RecordingComposer<'a> {
    pub(crate) bucket: &'a RecordingBucket,
    pub(crate) cache: &'a LocalCache,
    /// The state.
    pub(crate) hash: &'a ContentHash,
    /// The state whose index says where the entries are in the store.
    pub(crate) base: Option<&'a ContentHash>,
    /// The takes, in their order.
    pub(crate) takes: &'a [&'a ManifestTake],
}

impl RecordingComposer<'_> {
    /// Writes the recording. Entries that are missing or damaged in the cache are downloaded. Returns
    /// how many were.
    ///
    /// # Errors
    /// The store fails, an entry cannot be used, or a file cannot be written.
    pub(crate) async fn fetch_and_write(
        &self,
        manifest: &StateManifest,
        staged: &Path,
        on_progress: &OnFetchProgress,
    ) -> Result<u64, RemoteError> {
        // It says where entries are in the cache, so that no request is needed for those.
        let mut index = self.cache.state_index(self.hash);
        let fetched = self.fetch_missing(&mut index, on_progress).await?;
        match self.write_recording(&index, manifest, staged) {
            Err(_) if self.drop_damaged(&index) => {}
            written => return written.map(|()| fetched),
        }
        let again = self.fetch_missing(&mut index, on_progress).await?;
        self.write_recording(&index, manifest, staged)?;
        Ok(fetched + again)
    }

    /// Removes what is damaged in the cache. Returns whether an entry was, or is missing.
    fn drop_damaged(&self, index: &StateIndex) -> bool {
        let cached = CachedEntries { cache: self.cache, index };
        let mut has_damaged = false;
        for take in self.takes {
            let limit = take.bytes.min(LARGEST_ENTRY);
            let packed = cached.unchecked_entry(&take.object);
            if packed.is_none_or(|packed| check_text(&packed, &take.object, limit).is_err()) {
                cached.remove(&take.object);
                has_damaged = true;
            }
        }
        has_damaged
    }

    /// Downloads the entries that the cache does not have. Each is checked against its hash. The
    /// index is the store's then.
    async fn fetch_missing(
        &self,
        index: &mut StateIndex,
        on_progress: &OnFetchProgress,
    ) -> Result<u64, RemoteError> {
        let cached = CachedEntries { cache: self.cache, index };
        if self.takes.iter().all(|take| cached.has_entry(&take.object)) {
            return Ok(0);
        }
        let (bucket, cache, state) = (self.bucket, self.cache, self.base);
        let entries: BTreeMap<ContentHash, u64> =
            self.takes.iter().map(|take| (take.object.clone(), take.bytes)).collect();
        let download = EntryDownload { bucket, cache, state, on_progress };
        let mut downloaded = download.run(&entries).await?;
        if !downloaded.index.is_empty() {
            self.cache.put_index(self.hash, &downloaded.index)?;
        }
        downloaded.refuse_problems()?;
        *index = downloaded.index;
        Ok(downloaded.count)
    }

    fn write_recording(
        &self,
        index: &StateIndex,
        manifest: &StateManifest,
        staged: &Path,
    ) -> Result<(), RemoteError> {
        let meta = read_meta(self.bucket, manifest)?;
        let cached = CachedEntries { cache: self.cache, index };
        let entries = self.takes.iter().map(|take| self.read_entry(cached, take));
        loomrec_store::create_recording(staged, &meta, entries, true).map(drop)
    }

    /// Reads an entry from the cache.
    fn read_entry(
        &self,
        cached: CachedEntries<'_>,
        take: &ManifestTake,
    ) -> Result<(EntryName, Entry), RemoteError> {
        let failed = |problem: String| self.bucket.unusable_entry(&take.object, problem);
        let packed = cached
            .unchecked_entry(&take.object)
            .ok_or_else(|| failed("it has gone from the cache".to_owned()))?;
        let text = unpack_text(&packed, &take.object, take.bytes.min(LARGEST_ENTRY))
            .map_err(|problem| failed(format!("in the cache of this machine, {problem}")))?;
        let entry = Entry::from_text(&text).map_err(|error| match error {
            EntryReadError::Json(error) => failed(error.to_string()),
            EntryReadError::Entry(error) => failed(error.to_string()),
        })?;
        let name = match EntryName::of_key(&take.name) {
            (EntryName::Step(id), _) => {
                EntryName::from_step_id(&id).map_err(|error| failed(error.to_string()))?
            }
            (name, _) => name,
        };
        Ok((name, entry))
    }
}
