//! References that are lost or damaged although the bucket has states.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use object_store::ObjectMeta;

use super::bucket::{RecordingBucket, VersionedRef};
use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::local_cache::LocalCache;
use super::lost_reference::LostReference;
use super::manifest::StateManifest;
use super::packed_manifest::pack_manifest;
use super::remote_error::RemoteError;
use super::state_loader::load_manifest;

/// Reads the reference of a recording. Returns `None` if there was no state yet.
///
/// # Errors
/// The store fails. [`RemoteError::LostRef`] if the reference is damaged, or if it is missing and a
/// state shows that it was there.
pub(crate) async fn read_newest(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<Option<VersionedRef>, RemoteError> {
    let problem = match bucket.read_ref().await {
        Ok(Some(newest)) => return Ok(Some(newest)),
        Ok(None) => "it is missing".to_owned(),
        Err(RemoteError::Object { problem, .. }) => {
            let states = bucket.list_objects("manifests").await?;
            return Err(lost_ref_error(bucket, &states, problem));
        }
        Err(error) => return Err(error),
    };
    let states = bucket.list_objects("manifests").await?;
    if states.is_empty() {
        return Ok(None);
    }
    let segments = bucket.list_segments().await?;
    for state in &states {
        let Some(hash) = ContentHash::of_path(&state.location) else { continue };
        let is_named = match load_manifest(bucket, cache, &hash).await {
            Ok(manifest) => was_named(&manifest, &segments),
            Err(error) if error.is_unreachable() => return Err(error),
            Err(_) => true,
        };
        if is_named {
            // It may have been created since.
            return match bucket.read_ref().await? {
                Some(newest) => Ok(Some(newest)),
                None => Err(lost_ref_error(bucket, &states, problem)),
            };
        }
    }
    Ok(None)
}

/// Whether a reference may have named a state. A first compaction that was killed has uploaded a
/// state, too, but it has removed no segment.
fn was_named(manifest: &StateManifest, segments: &BTreeMap<ListedSegment, SystemTime>) -> bool {
    let there: BTreeSet<(&str, u32)> =
        segments.keys().map(|segment| (segment.recorder.as_str(), segment.number)).collect();
    let is_there = |recorder: &str, number: u32| there.contains(&(recorder, number));
    manifest.takes.iter().any(|take| take.recorder.is_none())
        || manifest.recorders.iter().any(|recorder| {
            (1..=recorder.segments).any(|number| {
                !recorder.missing.contains(&number) && !is_there(&recorder.id, number)
            })
        })
}

fn lost_ref_error(bucket: &RecordingBucket, states: &[ObjectMeta], problem: String) -> RemoteError {
    let newest = states.iter().max_by_key(|state| state.last_modified);
    let hash = newest.and_then(|state| ContentHash::of_path(&state.location));
    RemoteError::LostRef(Box::new(LostReference {
        url: bucket.url().to_owned(),
        path: bucket.ref_path().to_string(),
        problem,
        states: states.len(),
        newest: hash.map_or_else(|| "STATE".to_owned(), |hash| hash.to_string()),
        written: newest.map_or_else(String::new, |state| state.last_modified.to_rfc3339()),
    }))
}

/// Lets the reference name a state again, after it was lost or damaged.
///
/// # Errors
/// The store fails or does not have the state, or the reference is there and names one.
pub async fn restore_ref(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    state: &ContentHash,
) -> Result<(), RemoteError> {
    match bucket.read_ref().await {
        Ok(Some(newest)) => {
            let found = newest.state.manifest.to_string();
            return Err(RemoteError::RefPresent { url: bucket.url().to_owned(), found });
        }
        Ok(None) | Err(RemoteError::Object { .. }) => {}
        Err(error) => return Err(error),
    }
    let text = load_manifest(bucket, cache, state).await?.to_text();
    // It may be in the cache only.
    let packed = pack_manifest(bucket.url(), &text)?;
    bucket.put_manifest(state, packed).await?;
    bucket.replace_ref(state).await
}
