//! The download of the entries of a state into the cache, from where its index says that they are.

use std::collections::BTreeMap;

use super::bucket::RecordingBucket;
use super::cached_entries::CachedEntries;
use super::content_hash::ContentHash;
use super::download_progress::{DownloadProgress, OnFetchProgress};
use super::local_cache::LocalCache;
use super::object_download::download_objects;
use super::pack_download::{LostEntries, download_packs};
use super::pack_read::group_by_pack;
use super::remote_error::RemoteError;
use super::state_index::StateIndex;

/// A download of entries.
pub(crate) struct EntryDownload<'a> {
    pub(crate) bucket: &'a RecordingBucket,
    pub(crate) cache: &'a LocalCache,
    /// The state whose index is read; `None` if there is no state yet.
    pub(crate) state: Option<&'a ContentHash>,
    pub(crate) on_progress: &'a OnFetchProgress,
}

/// Entries that were downloaded.
pub(crate) struct DownloadedEntries {
    /// How many.
    pub(crate) count: u64,
    /// Where they are.
    pub(crate) index: StateIndex,
    /// Those that cannot be used, and why. An index that cannot be read is named first.
    pub(crate) problems: Vec<RemoteError>,
}

/// The index of a state, as the store has it.
struct ReadIndex {
    /// Empty if the index cannot be read.
    index: StateIndex,
    /// Why it cannot be read.
    problem: Option<RemoteError>,
}

impl EntryDownload<'_> {
    /// Downloads the entries that the cache does not have, each with the length of its text. Each is
    /// checked against its hash. Those that have arrived stay.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn run(
        &self,
        entries: &BTreeMap<ContentHash, u64>,
    ) -> Result<DownloadedEntries, RemoteError> {
        let read = self.read_index().await?;
        let total = self.missing_entries(&read.index, entries).len() as u64;
        let mut progress = DownloadProgress::new(self.on_progress, total);
        let (mut index, mut index_problem) = (read.index, read.problem);
        let mut lost = self.download_packed(&index, entries, &mut progress).await?;
        if !lost.is_empty() {
            // A collection of garbage, or a repair, may have changed where they are.
            let again = self.read_index().await?;
            if again.index.packs() != index.packs() {
                (index, index_problem) = (again.index, again.problem);
                lost = self.download_packed(&index, entries, &mut progress).await?;
            }
        }
        let missing = self.missing_entries(&index, entries);
        let (bucket, cache) = (self.bucket, self.cache);
        let damaged = download_objects(bucket, cache, missing, &mut progress).await?;
        let count = progress.done.saturating_sub(damaged.len() as u64);
        let problem = |(hash, error)| with_pack_problem(error, lost.get(&hash));
        let mut problems: Vec<RemoteError> = damaged.into_iter().map(problem).collect();
        if !problems.is_empty() {
            problems.splice(0..0, index_problem);
        }
        Ok(DownloadedEntries { count, index, problems })
    }

    /// Returns the entries that the cache does not have.
    fn missing_entries(
        &self,
        index: &StateIndex,
        entries: &BTreeMap<ContentHash, u64>,
    ) -> Vec<(ContentHash, u64)> {
        let cached = CachedEntries { cache: self.cache, index };
        let missing = entries.iter().filter(|(hash, _)| !cached.has_entry(hash));
        missing.map(|(hash, &bytes)| (hash.clone(), bytes)).collect()
    }

    async fn download_packed(
        &self,
        index: &StateIndex,
        entries: &BTreeMap<ContentHash, u64>,
        progress: &mut DownloadProgress<'_>,
    ) -> Result<LostEntries, RemoteError> {
        let missing = self.missing_entries(index, entries);
        let missing = missing.iter().map(|(hash, bytes)| (hash, *bytes));
        let (reads, _) = group_by_pack(index, missing);
        download_packs(self.bucket, self.cache, reads, progress).await
    }

    async fn read_index(&self) -> Result<ReadIndex, RemoteError> {
        let Some(state) = self.state else {
            return Ok(ReadIndex { index: StateIndex::default(), problem: None });
        };
        match self.bucket.read_index(state).await {
            Ok(index) => Ok(ReadIndex { index: index.unwrap_or_default(), problem: None }),
            // The entries may be objects.
            Err(error @ RemoteError::Object { .. }) => {
                Ok(ReadIndex { index: StateIndex::default(), problem: Some(error) })
            }
            Err(error) => Err(error),
        }
    }
}

impl DownloadedEntries {
    /// Fails if entries cannot be used: all of them are named.
    pub(crate) fn refuse_problems(&mut self) -> Result<(), RemoteError> {
        RemoteError::join_objects(std::mem::take(&mut self.problems)).map_or(Ok(()), Err)
    }
}

/// Adds what is wrong with an entry in its pack to what is wrong with its object.
fn with_pack_problem(error: RemoteError, in_pack: Option<&String>) -> RemoteError {
    match (error, in_pack) {
        (RemoteError::Object { path, url, problem }, Some(in_pack)) => {
            RemoteError::Object { path, url, problem: format!("{problem}; {in_pack}") }
        }
        (error, _) => error,
    }
}
