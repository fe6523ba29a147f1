//! The download of a state, and the recording that is composed of it.

use std::path::PathBuf;
use std::time::Duration;

use super::address::{RemoteName, StateSelector};
use super::bucket::RecordingBucket;
use super::composed_recording::is_of_state;
use super::content_hash::ContentHash;
use super::download_progress::OnFetchProgress;
use super::local_cache::LocalCache;
use super::manifest::{ManifestTake, StateManifest};
use super::merged_state::{MergedState, merge_new};
use super::packed_manifest::pack_manifest;
use super::packed_text::LARGEST_RECORDING;
use super::recording_composer::RecordingComposer;
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, refuse_gaps};
use super::state_loader::{load_manifest, takes_in_order};

/// A state that is on this machine.
#[derive(Clone, Debug)]
pub struct FetchedState {
    /// Its recording, in the cache.
    pub recording: PathBuf,
    /// The hash of its manifest.
    pub manifest: ContentHash,
    /// Whether no request was sent to the store.
    pub is_offline: bool,
    /// How long ago the store was asked, if it could not be asked now.
    pub age: Option<Duration>,
    /// How many entries were downloaded.
    pub fetched: u64,
}

/// A fetch of states into the cache.
#[derive(Clone)]
pub struct StateFetcher {
    /// The cache.
    pub cache: LocalCache,
    /// Whether the last state that this machine has seen is used if the store cannot be reached.
    pub is_stale_ok: bool,
    /// Called as objects arrive.
    pub on_progress: OnFetchProgress,
}

impl StateFetcher {
    /// Fetches a state, and composes its recording if the cache does not have it.
    ///
    /// # Errors
    /// The store cannot be used, has no such state, or an object is not what its name says.
    pub async fn fetch_state(&self, name: &RemoteName) -> Result<FetchedState, RemoteError> {
        let url = name.address.to_string();
        let known = match &name.state {
            StateSelector::Manifest(hash) => Some(hash.clone()),
            StateSelector::Tag(tag) => self.cache.tagged_state(&url, tag),
            StateSelector::Newest => None,
        };
        if let Some(hash) = &known
            && let Some(state) = self.cached_state(hash)?
        {
            return Ok(state);
        }
        let bucket = RecordingBucket::connect(&name.address)?;
        match (known, &name.state) {
            (Some(hash), _) => self.fetch_known(&bucket, hash).await,
            (None, StateSelector::Tag(tag)) => {
                let hash = bucket.tagged_state(tag).await?;
                self.cache.note_tag(&url, tag, &hash)?;
                self.fetch_known(&bucket, hash).await
            }
            (None, _) => self.fetch_newest(&bucket).await,
        }
    }

    /// Fetches the newest state, with what is not merged yet.
    ///
    /// # Errors
    /// As [`Self::fetch_state`].
    pub async fn fetch_newest(
        &self,
        bucket: &RecordingBucket,
    ) -> Result<FetchedState, RemoteError> {
        let merged = match merge_existing(bucket, &self.cache).await {
            Ok(merged) => merged,
            Err(error) if error.is_unreachable() && self.is_stale_ok => {
                return self.use_seen(bucket, error).await;
            }
            Err(error) => return Err(error),
        };
        self.cache.put_manifest(&merged.hash, &pack_manifest(bucket.url(), &merged.text)?)?;
        self.cache.note_seen(bucket.url(), &merged.hash)?;
        let base = merged.from.as_ref().map(|from| &from.state.manifest);
        self.compose_recording(bucket, merged.hash, &merged.manifest, base).await
    }

    async fn use_seen(
        &self,
        bucket: &RecordingBucket,
        error: RemoteError,
    ) -> Result<FetchedState, RemoteError> {
        let Some(seen) = self.cache.seen_state(bucket.url()) else {
            return Err(RemoteError::NothingSeen { problem: Box::new(error) });
        };
        let state = match self.cached_state(&seen.manifest)? {
            Some(state) => state,
            None => self.fetch_known(bucket, seen.manifest).await?,
        };
        Ok(FetchedState { age: Some(seen.age), ..state })
    }

    /// Returns a state whose recording is in the cache. It is one that this machine has composed,
    /// or its entries are those of its manifest.
    fn cached_state(&self, hash: &ContentHash) -> Result<Option<FetchedState>, RemoteError> {
        let Some(recording) = self.cache.unchecked_recording(hash)? else { return Ok(None) };
        if !self.cache.is_noted(hash) {
            let Some(manifest) = self.cache.checked_manifest(hash) else { return Ok(None) };
            if !is_of_state(&recording, &manifest).unwrap_or(false) {
                return Ok(None);
            }
            self.cache.note_recording(hash);
        }
        let manifest = hash.clone();
        Ok(Some(FetchedState { recording, manifest, is_offline: true, age: None, fetched: 0 }))
    }

    async fn fetch_known(
        &self,
        bucket: &RecordingBucket,
        hash: ContentHash,
    ) -> Result<FetchedState, RemoteError> {
        let is_cached = self.cache.packed_manifest(&hash).is_some();
        let manifest = load_manifest(bucket, &self.cache, &hash).await?;
        let state = self.compose_recording(bucket, hash.clone(), &manifest, Some(&hash)).await?;
        Ok(FetchedState { is_offline: is_cached && state.fetched == 0, ..state })
    }

    /// Composes the recording of a state. Entries that the cache does not have are downloaded from
    /// where the index of `base` says: this state, or the one that segments were merged into.
    async fn compose_recording(
        &self,
        bucket: &RecordingBucket,
        hash: ContentHash,
        manifest: &StateManifest,
        base: Option<&ContentHash>,
    ) -> Result<FetchedState, RemoteError> {
        if let Some(state) = self.cached_state(&hash)? {
            return Ok(FetchedState { is_offline: false, ..state });
        }
        let takes = takes_in_order(manifest);
        refuse_size(bucket, &takes)?;
        let staged = self.cache.stage_recording(&hash)?;
        let composer =
            RecordingComposer { bucket, cache: &self.cache, hash: &hash, base, takes: &takes };
        let written = composer.fetch_and_write(manifest, &staged, &self.on_progress).await;
        if written.is_err() {
            // What is left of it is never read.
            let _ = std::fs::remove_file(&staged);
        }
        let fetched = written?;
        let recording = self.cache.keep_recording(&hash, &staged)?;
        Ok(FetchedState { recording, manifest: hash, is_offline: false, age: None, fetched })
    }
}

/// Fails if the entries of a state have more bytes than a recording can have.
fn refuse_size(bucket: &RecordingBucket, takes: &[&ManifestTake]) -> Result<(), RemoteError> {
    let bytes = takes.iter().fold(0, |sum: u64, take| sum.saturating_add(take.bytes));
    match bytes > LARGEST_RECORDING {
        false => Ok(()),
        true => Err(RemoteError::TooLarge {
            what: "the entries of the state".to_owned(),
            url: bucket.url().to_owned(),
            bytes,
            limit: LARGEST_RECORDING,
        }),
    }
}

/// Reads the newest state, which must be there.
async fn merge_existing(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<MergedState, RemoteError> {
    let merged = merge_new(bucket, cache, GapChoice::Refuse).await?;
    refuse_gaps(bucket.url(), &merged.gaps)?;
    if merged.from.is_none() && merged.new.is_empty() {
        return Err(RemoteError::NotFound {
            what: "a recording".to_owned(),
            url: bucket.url().to_owned(),
            hint: "check the name (`loomrec ls` of it with a / at its end lists what is below it), or \
                   push or record one first",
        });
    }
    Ok(merged)
}
