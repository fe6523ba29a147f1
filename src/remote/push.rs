//! The upload of a recording as the newest state.

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::download_progress::OnFetchProgress;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::lost_reference::LostReference;
use super::manifest::StateManifest;
use super::merged_state::count_unmerged;
use super::packed_manifest::pack_manifest;
use super::push_upload::{KnownEntries, describe_takes};
use super::remote_error::RemoteError;
use super::secret_free::SecretFree;
use super::state_loader::{StateSize, load_manifest, state_size};

/// What may be replaced by a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushBase {
    /// The newest state must be this one. `None`: there must be no state.
    State(Option<ContentHash>),
    /// Any.
    Any,
}

/// What a push did.
#[derive(Clone, Debug)]
pub struct PushedState {
    /// The hash of the state.
    pub manifest: ContentHash,
    /// Its numbers.
    pub size: StateSize,
    /// How many objects were uploaded: packs, and those of one entry.
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
    let found = from.as_ref().map(|from| &from.state.manifest);
    let known = KnownEntries::read(bucket, found, &earlier).await?;
    let mut manifest = StateManifest {
        about: recording.recording.meta().top_level_keys().clone(),
        // A segment that was merged before must not be merged again.
        recorders: earlier.recorders.clone(),
        takes: Vec::new(),
    };
    let moved = || RemoteError::Moved {
        url: bucket.url().to_owned(),
        found: found.map_or_else(|| "gone".to_owned(), ToString::to_string),
    };
    let is_expected = |base: &PushBase| match base {
        PushBase::Any => true,
        PushBase::State(base) => base.as_ref() == found,
    };
    if *base != PushBase::Any {
        refuse_unmerged(bucket, &earlier).await?;
    }
    manifest.takes = describe_takes(bucket, recording)?;
    let uploaded = known.upload_unknown(bucket, recording, &manifest, on_progress).await?;
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
    if !uploaded.index.is_empty() {
        bucket.write_index(&hash, &uploaded.index).await?;
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
    Ok(PushedState { manifest: hash, size: state_size(&manifest), uploaded: uploaded.objects })
}

/// Fails if there are segments that a state does not have.
async fn refuse_unmerged(
    bucket: &RecordingBucket,
    state: &StateManifest,
) -> Result<(), RemoteError> {
    match count_unmerged(bucket, state).await? {
        0 => Ok(()),
        segments => Err(RemoteError::Unmerged { url: bucket.url().to_owned(), segments }),
    }
}

/// Whether the only state of the bucket is the one that is pushed: its first push was killed before
/// it wrote the reference.
fn is_first_push(lost: &LostReference, pushed: &ContentHash) -> bool {
    lost.states == 1 && lost.newest == pushed.to_string()
}
