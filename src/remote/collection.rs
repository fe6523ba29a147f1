//! The collection of garbage: objects that no state needs.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, SystemTime};

use loomrec_recording::timestamp::format_timestamp;
use object_store::ObjectMeta;
use object_store::path::Path;
use time::OffsetDateTime;

use super::bucket::{EntryListing, RecordingBucket};
use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::manifest::StateManifest;
use super::object_name::ObjectName;
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, plan_segments, refuse_gaps};
use super::state_index::StateIndex;
use super::state_loader::load_manifest;

/// Objects that are younger than this stay: someone may be about to name them.
const GRACE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What can be removed from a bucket.
#[derive(Debug, Default)]
pub struct GarbageList {
    paths: Vec<Path>,
    /// How many bytes the objects have.
    pub bytes: u64,
    /// How many states are kept.
    pub states: usize,
    /// The states that pointer files name, and that the store does not have.
    pub gone: Vec<ContentHash>,
    /// The states that are kept, and that have entries which the store does not list.
    pub holes: Vec<ContentHash>,
    /// Names these entries.
    pub lost: Option<RemoteError>,
}

/// Which states are kept, besides the newest one and those with tags.
#[derive(Clone, Debug, Default)]
pub struct GarbageTerms {
    /// Those that are younger than this.
    pub keep: Duration,
    /// Those that pointer files name.
    pub pinned: Vec<ContentHash>,
}

impl GarbageList {
    /// Returns the paths of the objects.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &str> {
        self.paths.iter().map(AsRef::as_ref)
    }

    /// Takes objects out that are needed after all.
    pub(crate) fn exclude_needed(&mut self, kept: &HashSet<Path>) {
        self.paths.retain(|path| !kept.contains(path));
    }

    pub(crate) fn add(&mut self, object: ObjectMeta) {
        self.bytes += object.size;
        self.paths.push(object.location);
    }

    /// Removes the objects.
    ///
    /// # Errors
    /// The store fails. Some may be removed; the rest is found again.
    pub async fn remove_objects(self, bucket: &RecordingBucket) -> Result<(), RemoteError> {
        bucket.remove_objects(self.paths).await
    }
}

/// Finds what no state needs: all but the newest state, those with tags, and those of `terms`.
///
/// # Errors
/// The store fails, or the manifest of a state that is kept cannot be used.
pub async fn find_garbage(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    terms: &GarbageTerms,
) -> Result<GarbageList, RemoteError> {
    let mut garbage = GarbageList::default();
    let newest = read_newest(bucket, cache).await?.map(|newest| newest.state.manifest);
    let mut kept: HashSet<ContentHash> = bucket.tagged_states().await?.into_iter().collect();
    kept.extend(newest.iter().chain(&terms.pinned).cloned());
    for (hash, object) in bucket.listed_states().await? {
        if kept.contains(&hash) || is_younger(&object, terms.keep.max(GRACE)) {
            kept.insert(hash);
        } else {
            garbage.add(object);
        }
    }
    let listing = bucket.list_entries().await?;
    let mut needed = NeededObjects::default();
    let mut newest_manifest = StateManifest::default();
    for hash in &kept {
        let manifest = match load_manifest(bucket, cache, hash).await {
            Err(RemoteError::NotFound { .. }) if terms.pinned.contains(hash) => {
                garbage.gone.push(hash.clone());
                continue;
            }
            manifest => manifest?,
        };
        let index = match bucket.read_index(hash).await {
            Err(RemoteError::Object { .. }) => StateIndex::default(),
            index => index?.unwrap_or_default(),
        };
        if !needed.add_state(&listing, &manifest, &index) {
            garbage.holes.push(hash.clone());
        }
        if Some(hash) == newest.as_ref() {
            newest_manifest = manifest;
        }
    }
    garbage.states = kept.len() - garbage.gone.len();
    for part in ["objects", "packs", "indexes"] {
        for object in bucket.list_objects(part).await? {
            let is_needed = match (bucket.object_name(&object.location), object_hash(&object)) {
                (Some(ObjectName::Entry), Some(hash)) => needed.objects.contains(&hash),
                (Some(ObjectName::Pack), Some(hash)) => needed.has_pack(&hash),
                (Some(ObjectName::Index), Some(hash)) => kept.contains(&hash),
                _ => true,
            };
            if !is_needed && !is_younger(&object, GRACE) {
                garbage.add(object);
            }
        }
    }
    add_segments(bucket, &newest_manifest, &mut garbage).await?;
    let lost = needed.lost.iter();
    let lost = lost.map(|hash| bucket.unusable_entry(hash, "the store does not have it"));
    garbage.lost = RemoteError::join_objects(lost.collect());
    Ok(garbage)
}

/// What the states need that are kept.
#[derive(Debug, Default)]
struct NeededObjects {
    objects: HashSet<ContentHash>,
    packs: HashSet<ContentHash>,
    /// Entries that are neither objects nor in packs of their index. Each pack may hold them: the
    /// index may be lost, or damaged.
    lost: BTreeSet<ContentHash>,
}

impl NeededObjects {
    /// Adds what a state needs. Returns whether the store lists all of it.
    fn add_state(
        &mut self,
        listing: &EntryListing,
        manifest: &StateManifest,
        index: &StateIndex,
    ) -> bool {
        let mut is_whole = true;
        for take in &manifest.takes {
            let pack = index.find_entry(&take.object).map(|(pack, _)| pack);
            if let Some(pack) = pack.filter(|pack| listing.has_pack(pack)) {
                self.packs.insert(pack.pack.clone());
                continue;
            }
            self.packs.extend(pack.map(|pack| pack.pack.clone()));
            if !listing.has_object(&take.object) {
                self.lost.insert(take.object.clone());
                is_whole = false;
            }
            self.objects.insert(take.object.clone());
        }
        is_whole
    }

    fn has_pack(&self, pack: &ContentHash) -> bool {
        !self.lost.is_empty() || self.packs.contains(pack)
    }
}

fn object_hash(object: &ObjectMeta) -> Option<ContentHash> {
    ContentHash::of_path(&object.location)
}

/// Adds the segments that are merged, and the files of recorders that have no segments and are not
/// alive: they have not written for a while, nor renewed their files.
async fn add_segments(
    bucket: &RecordingBucket,
    newest: &StateManifest,
    garbage: &mut GarbageList,
) -> Result<(), RemoteError> {
    let listed = bucket.list_segments().await?;
    let needed: HashSet<String> = listed.keys().map(|segment| segment.recorder.clone()).collect();
    let alive_since = timestamp_before(GRACE);
    let has_written = |recorder: &str| {
        let known = newest.recorders.iter().find(|known| known.id == recorder);
        known.is_some_and(|known| known.last_at > alive_since)
    };
    let plan = plan_segments(newest, listed, GapChoice::Refuse, SystemTime::now());
    refuse_gaps(bucket.url(), &plan.gaps)?;
    for object in bucket.list_objects("runs").await? {
        let parts: Vec<&str> = object.location.as_ref().rsplitn(3, '/').collect();
        let [file, recorder, ..] = parts[..] else { continue };
        let is_garbage = match ListedSegment::parse(&[recorder.to_owned(), file.to_owned()]) {
            Some(segment) => newest.has_segment(&segment),
            None => file == "recorder.json" && !needed.contains(recorder) && !has_written(recorder),
        };
        if is_garbage && !is_younger(&object, GRACE) {
            garbage.add(object);
        }
    }
    Ok(())
}

/// Returns a time that is this long ago, as recordings write it.
fn timestamp_before(age: Duration) -> String {
    let then = OffsetDateTime::now_utc() - age;
    format_timestamp(i64::try_from(then.unix_timestamp_nanos() / 1000).unwrap_or_default())
}

fn is_younger(object: &ObjectMeta, age: Duration) -> bool {
    let written = SystemTime::from(object.last_modified);
    // An object from the future is young.
    SystemTime::now().duration_since(written).is_ok_and(|found| found < age)
        || written > SystemTime::now()
}
