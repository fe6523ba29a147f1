//! The upload of a recording as the newest state.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use loomrec_recording::EntryName;
use loomrec_recording::redact::{CallCredentials, is_clean};
use loomrec_store::Recording;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::bucket::RecordingBucket;
use super::bucket_check::listed_entries;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::lost_reference::LostReference;
use super::manifest::StateManifest;
use super::merged_state::count_unmerged;
use super::object_access::PARALLEL;
use super::object_download::OnFetchProgress;
use super::packed_manifest::pack_manifest;
use super::packed_text::pack_text;
use super::remote_error::RemoteError;
use super::segment::describe_take;
use super::state_loader::{StateSize, load_manifest, state_size};

/// What may be replaced by a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushBase {
    /// The newest state must be this one. `None`: there must be no state.
    State(Option<ContentHash>),
    /// Any.
    Any,
}

/// A recording to push, and the secrets that none of its entries may hold.
pub struct SecretFree<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The secrets.
    pub secrets: &'a CallCredentials,
}

impl SecretFree<'_> {
    /// Fails if the text of an entry holds a secret.
    pub(crate) fn refuse_secrets(
        &self,
        bucket: &RecordingBucket,
        name: &EntryName,
        text: &[u8],
    ) -> Result<(), RemoteError> {
        match is_clean(text, self.secrets) {
            true => Ok(()),
            false => {
                Err(RemoteError::Secret { url: bucket.url().to_owned(), name: name.to_string() })
            }
        }
    }
}

/// What a push did.
#[derive(Clone, Debug)]
pub struct PushedState {
    /// The hash of the state.
    pub manifest: ContentHash,
    /// Its numbers.
    pub size: StateSize,
    /// How many objects were uploaded.
    pub uploaded: u64,
}

/// Uploads what the store does not have, and makes a recording the newest state, with a tag if one
/// is given.
///
/// # Errors
/// The recording cannot be read, the store fails, or the newest state is not `base`.
pub async fn push(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    recording: &SecretFree<'_>,
    base: &PushBase,
    tag: Option<&str>,
    on_progress: &OnFetchProgress,
) -> Result<PushedState, RemoteError> {
    let (from, lost) = match read_newest(bucket, cache).await {
        Err(RemoteError::LostRef(lost)) => (None, Some(lost)),
        newest => (newest?, None),
    };
    let earlier = match &from {
        Some(from) => load_manifest(bucket, cache, &from.state.manifest).await?,
        None => StateManifest::default(),
    };
    let known = Arc::new(known_entries(bucket, &earlier).await?);
    let mut manifest = StateManifest {
        about: recording.recording.meta().keys().clone(),
        // A segment that was merged before must not be merged again.
        recorders: earlier.recorders.clone(),
        takes: Vec::new(),
    };
    let found = from.as_ref().map(|from| &from.state.manifest);
    let moved = || RemoteError::Moved {
        url: bucket.url().to_owned(),
        found: found.map_or_else(|| "gone".to_owned(), ToString::to_string),
    };
    let is_expected = |base: &PushBase| match base {
        PushBase::Any => true,
        PushBase::State(base) => base.as_ref() == found,
    };
    let segments = match base {
        PushBase::Any => 0,
        PushBase::State(_) => count_unmerged(bucket, &earlier).await?,
    };
    if segments > 0 {
        return Err(RemoteError::Unmerged { url: bucket.url().to_owned(), segments });
    }
    let uploaded = upload(bucket, recording, &known, &mut manifest, on_progress).await?;
    let text = manifest.to_text();
    let hash = ContentHash::from_bytes(&text);
    if let Some(lost) = lost
        && !is_first_push(&lost, &hash)
    {
        return Err(RemoteError::LostRef(lost));
    }
    // Pushing what is the newest state already is no conflict.
    if !is_expected(base) && found != Some(&hash) {
        return Err(moved());
    }
    if let Some(tag) = tag
        && bucket.read_tag(tag).await?.is_some_and(|named| named != hash)
    {
        return Err(RemoteError::TagTaken { url: bucket.url().to_owned(), tag: tag.to_owned() });
    }
    let packed = pack_manifest(bucket.url(), &text)?;
    cache.put_manifest(&hash, &packed)?;
    bucket.put_manifest(&hash, packed).await?;
    if found != Some(&hash) && !bucket.move_ref(from.as_ref(), &hash).await? {
        return Err(RemoteError::Contended { url: bucket.url().to_owned() });
    }
    if let Some(tag) = tag {
        bucket.write_tag(tag, &hash).await?;
    }
    Ok(PushedState { manifest: hash, size: state_size(&manifest), uploaded })
}

/// The objects of entries that a bucket has.
struct KnownEntries {
    /// Those that its newest state names, whether they are there or not.
    named: HashSet<ContentHash>,
    /// Those that are there, with their lengths in bytes.
    listed: HashMap<ContentHash, u64>,
}

impl KnownEntries {
    /// Makes sure that an object is there. Returns whether it was uploaded.
    async fn put(
        &self,
        bucket: &RecordingBucket,
        hash: &ContentHash,
        packed: Vec<u8>,
    ) -> Result<bool, RemoteError> {
        match self.listed.get(hash) {
            Some(&bytes) if self.named.contains(hash) && bytes == packed.len() as u64 => Ok(false),
            // A push that was stopped may have left it.
            Some(_) => bucket.renew_entry(hash, packed).await,
            None => bucket.put_entry(hash, packed).await.map(|()| true),
        }
    }
}

/// Returns what a bucket has, and what of it a state names.
async fn known_entries(
    bucket: &RecordingBucket,
    state: &StateManifest,
) -> Result<KnownEntries, RemoteError> {
    let named = state.takes.iter().map(|take| take.object.clone()).collect();
    Ok(KnownEntries { named, listed: listed_entries(bucket).await? })
}

/// Whether the only state of the bucket is the one that is pushed: its first push was killed before
/// it wrote the reference.
fn is_first_push(lost: &LostReference, pushed: &ContentHash) -> bool {
    lost.states == 1 && lost.newest == pushed.to_string()
}

/// Adds the takes of a recording to the manifest, and uploads the objects that are not known, or
/// known with another length. Returns how many that were.
async fn upload(
    bucket: &RecordingBucket,
    recording: &SecretFree<'_>,
    known: &Arc<KnownEntries>,
    manifest: &mut StateManifest,
    on_progress: &OnFetchProgress,
) -> Result<u64, RemoteError> {
    let total = recording.recording.most_takes() as u64;
    let room = Arc::new(Semaphore::new(PARALLEL));
    let mut uploads: JoinSet<Result<bool, RemoteError>> = JoinSet::new();
    let mut seen: HashSet<ContentHash> = HashSet::new();
    let (mut uploaded, mut done) = (0, 0);
    on_progress(0, total);
    for stored in recording.recording.entries() {
        let stored = stored?;
        let (take, text) = describe_take(&stored.name, &stored.entry);
        recording.refuse_secrets(bucket, &stored.name, &text)?;
        let hash = take.object.clone();
        manifest.takes.push(take);
        if !seen.insert(hash.clone()) {
            done += 1;
            continue;
        }
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let (bucket, known) = (bucket.clone(), Arc::clone(known));
        uploads.spawn(async move {
            let packed = pack_text(&text).map_err(RemoteError::at("the text of an entry"))?;
            let is_new = known.put(&bucket, &hash, packed).await?;
            drop(permit);
            Ok(is_new)
        });
        while let Some(upload) = uploads.try_join_next() {
            uploaded += u64::from(finished(upload)?);
            done += 1;
            on_progress(done, total);
        }
    }
    while let Some(upload) = uploads.join_next().await {
        uploaded += u64::from(finished(upload)?);
        done += 1;
        on_progress(done, total);
    }
    Ok(uploaded)
}

fn finished(
    done: Result<Result<bool, RemoteError>, tokio::task::JoinError>,
) -> Result<bool, RemoteError> {
    done.map_err(|error| std::io::Error::other(error.to_string()))
        .map_err(RemoteError::at("the upload of an object"))?
}
