//! Compaction: segments are merged into a new state, which the reference then names.
//!
//! Entries come first, then the index and the manifest, then the reference, which is moved only if it
//! is still what was read. Segments are removed after that, once their entries are known to be right.
//! So a crash at any point loses nothing, and the next compaction goes on from there. What is merged
//! is noted in the manifest, so nothing is merged twice.

use std::collections::HashSet;
use std::time::Duration;

use rand::RngExt as _;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::entry_check::{CheckDepth, StateLayout, check_entries};
use super::listed_segment::ListedSegment;
use super::local_cache::LocalCache;
use super::merge_upload::{MergeBase, upload_merged};
use super::merged_segments::check_merged;
use super::merged_state::{MergedState, merge_new};
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, refuse_gaps};
use super::state_index::StateIndex;
use super::state_loader::{StateSize, state_size};

/// How often a compaction is repeated if others move the reference.
const TRIES: usize = 100;

/// The longest pause before it is repeated.
const JITTER_MS: u64 = 200;

/// What a compaction did.
#[derive(Debug)]
pub struct CompactedState {
    /// The hash of the newest state; `None` if there is nothing in the store.
    pub manifest: Option<ContentHash>,
    /// The numbers of that state.
    pub size: StateSize,
    /// How many segments were merged.
    pub segments: u64,
    /// Names entries of the state that the store does not list. They were there before.
    pub lost: Option<RemoteError>,
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
        let base = MergeBase::read(bucket, &merged).await?;
        if merged.new.is_empty() {
            let index = base.index;
            let lost = release_segments(bucket, &merged, index, &[]).await?;
            let manifest = merged.from.map(|from| from.state.manifest);
            return Ok(CompactedState { manifest, size, segments: 0, lost });
        }
        let index = match upload_merged(bucket, cache, &merged, base).await? {
            Ok(index) => index,
            Err(hash) => {
                // The next attempt takes it from its segment again.
                refuse_damage_again(bucket, damaged.replace(hash.clone()), &hash)?;
                continue;
            }
        };
        if !bucket.move_ref(merged.from.as_ref(), &merged.hash).await? {
            let pause = rand::rng().random_range(0..JITTER_MS);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            continue;
        }
        let lost = release_segments(bucket, &merged, index, &merged.new).await?;
        cache.keep_segments(bucket.url(), &HashSet::new());
        let segments = merged.new.len() as u64;
        return Ok(CompactedState { manifest: Some(merged.hash), size, segments, lost });
    }
    Err(RemoteError::Contended { url: bucket.url().to_owned() })
}

/// Removes segments whose entries are right: those of this compaction, and those that a killed one
/// has merged. The files of their recorders stay: a recorder may go on. Returns what names the
/// entries of the state that the store does not list.
async fn release_segments(
    bucket: &RecordingBucket,
    merged: &MergedState,
    index: StateIndex,
    new: &[ListedSegment],
) -> Result<Option<RemoteError>, RemoteError> {
    let state = match (new.is_empty(), &merged.from) {
        (true, Some(from)) => &from.state.manifest,
        _ => &merged.hash,
    };
    let layout = StateLayout::new(state.clone(), index, &merged.manifest);
    let left = check_merged(bucket, &layout, &merged.manifest, &merged.merged).await?;
    let done: Vec<ListedSegment> = new.iter().chain(&left.whole).cloned().collect();
    bucket.remove_segments(&done, &[]).await?;
    if let Some(error) = RemoteError::join_objects(left.problems) {
        return Err(error);
    }
    refuse_gaps(bucket.url(), &merged.gaps)?;
    refuse_other_rules(bucket, merged)?;
    let lost = check_entries(bucket, std::slice::from_ref(&layout), CheckDepth::Listing).await?;
    Ok(RemoteError::join_objects(lost.into_values().collect()))
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

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
