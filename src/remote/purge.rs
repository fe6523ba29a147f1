//! The removal of all that the newest state does not need, at once, and of whole recordings.

use std::collections::HashSet;

use super::bucket::RecordingBucket;
use super::bucket_check::{CheckDepth, check_bucket};
use super::collection::GarbageList;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::merged_state::count_unmerged;
use super::object_name::ObjectName;
use super::remote_error::RemoteError;
use super::state_loader::{load_manifest, takes_in_order};

/// What a purge removes, and what names it.
#[derive(Debug, Default)]
pub struct PurgeList {
    /// The objects.
    pub garbage: GarbageList,
    /// The states that go, with the times at which they were written. Pointer files and names with
    /// a hash can pin them.
    pub states: Vec<(ContentHash, String)>,
    /// The tags that name one of them, and go as well.
    pub tags: Vec<String>,
    /// How many takes the newest state has that others replace. They stay.
    pub replaced: usize,
    entries: Vec<ContentHash>,
}

/// Finds what the newest state does not need, however young it is.
///
/// # Errors
/// The store fails, or there is no newest state. [`RemoteError::UnmergedPurge`] if there are segments
/// that no state has: they may hold what is to be removed.
pub async fn find_purgeable(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<PurgeList, RemoteError> {
    let newest = read_newest(bucket, cache).await?.ok_or_else(|| missing(bucket))?.state.manifest;
    let manifest = load_manifest(bucket, cache, &newest).await?;
    let segments = count_unmerged(bucket, &manifest).await?;
    if segments > 0 {
        return Err(RemoteError::UnmergedPurge { url: bucket.url().to_owned(), segments });
    }
    let mut list = PurgeList {
        replaced: manifest.takes.len() - takes_in_order(&manifest).len(),
        ..PurgeList::default()
    };
    list.garbage.states = 1;
    let needed: HashSet<&ContentHash> = manifest.takes.iter().map(|take| &take.object).collect();
    for (tag, state) in bucket.tags().await? {
        if state != newest {
            list.garbage.add(tag.clone());
            list.tags.extend(tag.location.filename().map(str::to_owned));
        }
    }
    for part in ["manifests", "objects", "runs"] {
        for object in bucket.list(part).await? {
            let Some(name) = bucket.object_name(&object.location) else { continue };
            let hash = ContentHash::of_path(&object.location);
            match (name, hash) {
                (ObjectName::Manifest, Some(hash)) if hash != newest => {
                    list.states.push((hash, object.last_modified.to_rfc3339()));
                }
                (ObjectName::Entry, Some(hash)) if !needed.contains(&hash) => {
                    list.entries.push(hash);
                }
                // All of them are merged.
                (ObjectName::Segment, _) => {}
                _ => continue,
            }
            list.garbage.add(object);
        }
    }
    Ok(list)
}

impl PurgeList {
    /// Removes the objects, also from the cache of this machine, and checks that the newest state is
    /// whole.
    ///
    /// # Errors
    /// The store fails: some may be removed, and the rest is found again. An object that the newest
    /// state needs is not there: somebody changed the recording meanwhile.
    pub async fn remove(
        self,
        bucket: &RecordingBucket,
        cache: &LocalCache,
    ) -> Result<(), RemoteError> {
        self.garbage.remove(bucket).await?;
        self.entries.iter().for_each(|hash| cache.drop_object(hash));
        self.states.iter().for_each(|(hash, _)| cache.drop_state(hash));
        let check = check_bucket(bucket, cache, None, CheckDepth::Listing).await?;
        check.into_error().map_or(Ok(()), Err)
    }
}

/// Finds every object of a recording.
///
/// # Errors
/// The store fails, or has no such recording.
pub async fn find_recording(bucket: &RecordingBucket) -> Result<GarbageList, RemoteError> {
    let mut list = GarbageList::default();
    for object in bucket.list("").await? {
        if bucket.object_name(&object.location).is_some() {
            list.add(object);
        }
    }
    if list.paths().len() == 0 {
        return Err(missing(bucket));
    }
    Ok(list)
}

fn missing(bucket: &RecordingBucket) -> RemoteError {
    RemoteError::NotFound {
        what: "a recording".to_owned(),
        url: bucket.url().to_owned(),
        hint: "check the name",
    }
}
