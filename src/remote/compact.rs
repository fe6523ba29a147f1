//! Compaction: segments are merged into a new state, which the reference then names.
//!
//! Objects come first, then the manifest, then the reference, which is moved only if it is still
//! what was read. Segments are removed after that, once their objects are known to be right. So a
//! crash at any point loses nothing, and the next compaction goes on from there. What is merged is
//! noted in the manifest, so nothing is merged twice.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use rand::RngExt as _;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::local_cache::LocalCache;
use super::merged_segments::check_merged;
use super::merged_state::{MergedState, merge_new};
use super::object_access::PARALLEL;
use super::packed_manifest::pack_manifest;
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, refuse_gaps};
use super::state_loader::{StateSize, state_size};

/// How often a compaction is repeated if others move the reference.
const TRIES: usize = 100;

/// The longest pause before it is repeated.
const JITTER_MS: u64 = 200;

/// What a compaction did.
#[derive(Clone, Debug)]
pub struct CompactedState {
    /// The hash of the newest state; `None` if there is nothing in the store.
    pub manifest: Option<ContentHash>,
    /// The numbers of that state.
    pub size: StateSize,
    /// How many segments were merged.
    pub segments: u64,
}

/// Merges all segments that are in the store.
///
/// # Errors
/// The store fails, or an object cannot be used: nothing is lost, and the next compaction goes on.
/// [`RemoteError::Gap`] and [`RemoteError::OtherRules`] if segments were left out; the others are
/// merged.
pub async fn compact(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    choice: GapChoice,
) -> Result<CompactedState, RemoteError> {
    let mut damaged: Option<ContentHash> = None;
    for _ in 0..TRIES {
        let merged = merge_new(bucket, cache, choice).await?;
        let size = state_size(&merged.manifest);
        if merged.new.is_empty() {
            release_segments(bucket, &merged, &[]).await?;
            let manifest = merged.from.map(|from| from.state.manifest);
            return Ok(CompactedState { manifest, size, segments: 0 });
        }
        if let Some(hash) = upload_new(bucket, cache, &merged).await? {
            // The next attempt takes it from its segment again.
            refuse_damage_again(bucket, damaged.replace(hash.clone()), &hash)?;
            continue;
        }
        if !bucket.move_ref(merged.from.as_ref(), &merged.hash).await? {
            let pause = rand::rng().random_range(0..JITTER_MS);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            continue;
        }
        release_segments(bucket, &merged, &merged.new).await?;
        let segments = merged.new.len() as u64;
        return Ok(CompactedState { manifest: Some(merged.hash), size, segments });
    }
    Err(RemoteError::Contended { url: bucket.url().to_owned() })
}

/// Removes segments whose objects are right: those of this compaction, and those that a killed one
/// has merged. The files of their recorders stay: a recorder may go on.
async fn release_segments(
    bucket: &RecordingBucket,
    merged: &MergedState,
    new: &[ListedSegment],
) -> Result<(), RemoteError> {
    let left = check_merged(bucket, &merged.manifest, &merged.merged).await?;
    let done: Vec<ListedSegment> = new.iter().chain(&left.whole).cloned().collect();
    bucket.remove_segments(&done, &[]).await?;
    if let Some(error) = RemoteError::join_objects(left.problems) {
        return Err(error);
    }
    refuse_gaps(bucket.url(), &merged.gaps)?;
    refuse_other_rules(bucket, merged)
}

/// Fails if an object was damaged in the cache, written again, and damaged again.
fn refuse_damage_again(
    bucket: &RecordingBucket,
    before: Option<ContentHash>,
    now: &ContentHash,
) -> Result<(), RemoteError> {
    match before.as_ref() == Some(now) {
        false => Ok(()),
        true => Err(bucket.unusable_entry(
            now,
            "the cache of this machine has damaged it twice; let LOOMREC_CACHE name a folder on \
             another disk",
        )),
    }
}

fn refuse_other_rules(bucket: &RecordingBucket, merged: &MergedState) -> Result<(), RemoteError> {
    if merged.other_rules.is_empty() {
        return Ok(());
    }
    let recorders = merged.other_rules.join(", ");
    Err(RemoteError::OtherRules { url: bucket.url().to_owned(), recorders })
}

/// Uploads the objects of the new segments, and the manifest. Each is checked first. Returns an
/// object that is damaged or missing in the cache, if there is one; the manifest is not uploaded
/// then.
async fn upload_new(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    merged: &MergedState,
) -> Result<Option<ContentHash>, RemoteError> {
    let objects: BTreeSet<&ContentHash> = merged.objects.iter().collect();
    let uploads = objects.into_iter().map(|hash| async move {
        let Some(packed) = cache.object(hash) else { return Ok(Some(hash.clone())) };
        bucket.put_entry(hash, packed).await.map(|()| None)
    });
    let uploads = futures_util::stream::iter(uploads).buffer_unordered(PARALLEL);
    let damaged: Vec<Option<ContentHash>> = uploads.try_collect().await?;
    if let Some(hash) = damaged.into_iter().flatten().next() {
        return Ok(Some(hash));
    }
    let packed = pack_manifest(bucket.url(), &merged.text)?;
    bucket.put_manifest(&merged.hash, packed).await.map(|()| None)
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
