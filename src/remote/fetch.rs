//! The download of a state, and the recording that is composed of it.

use std::path::PathBuf;
use std::time::Duration;

use loomrec_recording::entry::EntryReadError;
use loomrec_recording::{Entry, EntryName};

use super::address::{RemoteName, StateSelector};
use super::bucket::RecordingBucket;
use super::composed_recording::is_of_state;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::manifest::{ManifestTake, StateManifest};
use super::merged_state::{MergedState, merge_new};
use super::object_download::{OnFetchProgress, download_objects};
use super::packed_manifest::pack_manifest;
use super::packed_text::{LARGEST_ENTRY, LARGEST_RECORDING, check_text, unpack_text};
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, refuse_gaps};
use super::state_loader::{load_manifest, read_meta, takes_in_order};

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
    /// How many objects were downloaded.
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
    pub async fn fetch(&self, name: &RemoteName) -> Result<FetchedState, RemoteError> {
        let url = name.address.to_string();
        let known = match &name.state {
            StateSelector::Manifest(hash) => Some(hash.clone()),
            StateSelector::Tag(tag) => self.cache.tag(&url, tag),
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
    /// As [`Self::fetch`].
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
        self.compose(bucket, merged.hash, &merged.manifest).await
    }

    async fn use_seen(
        &self,
        bucket: &RecordingBucket,
        error: RemoteError,
    ) -> Result<FetchedState, RemoteError> {
        let Some(seen) = self.cache.seen(bucket.url()) else {
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
            let Some(manifest) = self.cache.manifest(hash) else { return Ok(None) };
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
        let state = self.compose(bucket, hash, &manifest).await?;
        Ok(FetchedState { is_offline: is_cached && state.fetched == 0, ..state })
    }

    /// Composes the recording of a state. Objects that the cache does not have are downloaded.
    async fn compose(
        &self,
        bucket: &RecordingBucket,
        hash: ContentHash,
        manifest: &StateManifest,
    ) -> Result<FetchedState, RemoteError> {
        if let Some(state) = self.cached_state(&hash)? {
            return Ok(FetchedState { is_offline: false, ..state });
        }
        let takes = takes_in_order(manifest);
        refuse_size(bucket, &takes)?;
        let staged = self.cache.stage_recording(&hash)?;
        let written = self.fetch_and_write(bucket, manifest, &takes, &staged).await;
        if written.is_err() {
            // What is left of it is never read.
            let _ = std::fs::remove_file(&staged);
        }
        let fetched = written?;
        let recording = self.cache.keep_recording(&hash, &staged)?;
        Ok(FetchedState { recording, manifest: hash, is_offline: false, age: None, fetched })
    }

    /// Writes the recording of a state. Objects that are missing or damaged in the cache are
    /// downloaded. Returns how many were.
    async fn fetch_and_write(
        &self,
        bucket: &RecordingBucket,
        manifest: &StateManifest,
        takes: &[&ManifestTake],
        staged: &std::path::Path,
    ) -> Result<u64, RemoteError> {
        let fetched = self.fetch_missing(bucket, takes).await?;
        match self.write_recording(bucket, manifest, takes, staged) {
            Err(_) if self.drop_damaged(takes) => {}
            written => return written.map(|()| fetched),
        }
        let again = self.fetch_missing(bucket, takes).await?;
        self.write_recording(bucket, manifest, takes, staged)?;
        Ok(fetched + again)
    }

    /// Removes the objects of these takes that are damaged in the cache. Returns whether one was, or
    /// is missing.
    fn drop_damaged(&self, takes: &[&ManifestTake]) -> bool {
        let mut has_damaged = false;
        for take in takes {
            let limit = take.bytes.min(LARGEST_ENTRY);
            let packed = self.cache.unchecked_object(&take.object);
            if packed.is_none_or(|packed| check_text(&packed, &take.object, limit).is_err()) {
                self.cache.drop_object(&take.object);
                has_damaged = true;
            }
        }
        has_damaged
    }

    /// Downloads the objects that the cache does not have. Each is checked against its hash.
    async fn fetch_missing(
        &self,
        bucket: &RecordingBucket,
        takes: &[&ManifestTake],
    ) -> Result<u64, RemoteError> {
        let mut missing: Vec<&ManifestTake> =
            takes.iter().copied().filter(|take| !self.cache.has_object(&take.object)).collect();
        missing.sort_by(|one, other| one.object.cmp(&other.object));
        missing.dedup_by(|one, other| one.object == other.object);
        download_objects(bucket, &self.cache, missing, &self.on_progress).await
    }

    fn write_recording(
        &self,
        bucket: &RecordingBucket,
        manifest: &StateManifest,
        takes: &[&ManifestTake],
        staged: &std::path::Path,
    ) -> Result<(), RemoteError> {
        let meta = read_meta(bucket, manifest)?;
        let entries = takes.iter().map(|take| self.read_entry(bucket, take));
        loomrec_store::create(staged, &meta, entries, true).map(drop)
    }

    /// Reads an entry from the cache.
    fn read_entry(
        &self,
        bucket: &RecordingBucket,
        take: &ManifestTake,
    ) -> Result<(EntryName, Entry), RemoteError> {
        let failed = |problem: String| bucket.unusable_entry(&take.object, problem);
        let packed = self
            .cache
            .unchecked_object(&take.object)
            .ok_or_else(|| failed("it has gone from the cache".to_owned()))?;
        let text = unpack_text(&packed, &take.object, take.bytes.min(LARGEST_ENTRY))
            .map_err(|problem| failed(format!("in the cache of this machine, {problem}")))?;
        let entry = Entry::read(&text).map_err(|error| match error {
            EntryReadError::Json(error) => failed(error.to_string()),
            EntryReadError::Entry(error) => failed(error.to_string()),
        })?;
        let name = match EntryName::of_key(&take.name) {
            (EntryName::Step(id), _) => {
                EntryName::step(&id).map_err(|error| failed(error.to_string()))?
            }
            (name, _) => name,
        };
        Ok((name, entry))
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
