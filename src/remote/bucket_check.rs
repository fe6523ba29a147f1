//! The check of a bucket: whether the objects that its states name are there and right.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::SystemTime;

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::manifest::StateManifest;
use super::object_access::PARALLEL;
use super::packed_text::{LARGEST_ENTRY, LARGEST_MANIFEST, check_text};
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, plan_segments, refuse_gaps};

/// How closely objects are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// Whether they are listed, and not empty. Manifests are read.
    Listing,
    /// Each is read and hashed.
    Contents,
}

/// What a check found.
#[derive(Debug, Default)]
pub struct BucketCheck {
    /// How many states were checked.
    pub states: usize,
    /// How many objects of entries they name.
    pub objects: usize,
    /// How many segments of recorders are known to be lost.
    pub missing_segments: usize,
    /// Whether the objects of a state are not known, since its manifest cannot be read.
    pub is_partial: bool,
    /// The objects of entries that cannot be used, and why.
    pub(crate) entries: BTreeMap<ContentHash, RemoteError>,
    /// The manifests that cannot be used, and why.
    pub(crate) manifests: BTreeMap<ContentHash, RemoteError>,
}

impl BucketCheck {
    /// Returns how many objects cannot be used.
    pub fn damaged(&self) -> usize {
        self.entries.len() + self.manifests.len()
    }

    /// Returns the error that names the objects that cannot be used; `None` if all are right.
    pub fn into_error(self) -> Option<RemoteError> {
        RemoteError::join_objects(
            self.manifests.into_values().chain(self.entries.into_values()).collect(),
        )
    }
}

/// Checks the objects of a state, or of the newest one and those with tags.
///
/// # Errors
/// The store fails, the reference is lost, or a recorder has a gap. Objects that cannot be used are
/// a result, not an error.
pub async fn check_bucket(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    state: Option<&ContentHash>,
    depth: CheckDepth,
) -> Result<BucketCheck, RemoteError> {
    let states = match state {
        Some(state) => BTreeSet::from([state.clone()]),
        None => named_states(bucket, cache).await?,
    };
    let mut check = BucketCheck { states: states.len(), ..BucketCheck::default() };
    let mut needed: BTreeMap<ContentHash, u64> = BTreeMap::new();
    for state in &states {
        let manifest = match read_manifest(bucket, state).await? {
            Ok(manifest) => Some(manifest),
            Err(problem) => {
                check.manifests.insert(state.clone(), problem);
                cache.manifest(state)
            }
        };
        let Some(manifest) = manifest else {
            check.is_partial = true;
            continue;
        };
        let missing = manifest.recorders.iter().map(|recorder| recorder.missing.len());
        check.missing_segments = check.missing_segments.max(missing.sum());
        needed.extend(manifest.takes.into_iter().map(|take| (take.object, take.bytes)));
    }
    check.objects = needed.len();
    check.entries = match depth {
        CheckDepth::Listing => check_listing(bucket, needed).await?,
        CheckDepth::Contents => check_contents(bucket, needed).await?,
    };
    Ok(check)
}

/// Returns the newest state and those with tags.
async fn named_states(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<BTreeSet<ContentHash>, RemoteError> {
    let newest = read_newest(bucket, cache).await?.map(|newest| newest.state.manifest);
    let manifest = match &newest {
        // One that cannot be used is reported with the others.
        Some(newest) => read_manifest(bucket, newest).await?.unwrap_or_default(),
        None => StateManifest::default(),
    };
    if newest.is_none() || !manifest.takes.is_empty() {
        let listed = bucket.list_segments().await?;
        let plan = plan_segments(&manifest, listed, GapChoice::Refuse, SystemTime::now());
        refuse_gaps(bucket.url(), &plan.gaps)?;
    }
    Ok(bucket.tagged_states().await?.into_iter().chain(newest).collect())
}

/// Reads a manifest as the bucket has it. The inner error is about the object.
async fn read_manifest(
    bucket: &RecordingBucket,
    hash: &ContentHash,
) -> Result<Result<StateManifest, RemoteError>, RemoteError> {
    let unusable = |problem: String| bucket.unusable_manifest(hash, problem);
    let packed = match bucket.get_manifest(hash).await {
        Ok(Some(packed)) => packed,
        Ok(None) => return Ok(Err(unusable("the store does not have it".to_owned()))),
        Err(error @ RemoteError::Object { .. }) => return Ok(Err(error)),
        Err(error) => return Err(error),
    };
    if let Err(problem) = check_text(&packed, hash, LARGEST_MANIFEST) {
        return Ok(Err(unusable(problem)));
    }
    Ok(StateManifest::from_packed(&packed).map_err(|error| unusable(error.to_string())))
}

/// Returns the objects that are not listed, or are empty.
async fn check_listing(
    bucket: &RecordingBucket,
    needed: BTreeMap<ContentHash, u64>,
) -> Result<BTreeMap<ContentHash, RemoteError>, RemoteError> {
    let listed = listed_entries(bucket).await?;
    let problem_of = |hash: &ContentHash| match listed.get(hash) {
        None => Some(bucket.unusable_entry(hash, "the store does not have it")),
        Some(0) => Some(bucket.unusable_entry(hash, "it is empty")),
        Some(_) => None,
    };
    Ok(needed.into_keys().filter_map(|hash| problem_of(&hash).map(|error| (hash, error))).collect())
}

/// Returns the objects of entries in a bucket, with their lengths in bytes.
pub(crate) async fn listed_entries(
    bucket: &RecordingBucket,
) -> Result<HashMap<ContentHash, u64>, RemoteError> {
    let listed = bucket.list("objects").await?;
    let entry = |object: object_store::ObjectMeta| {
        Some((ContentHash::of_path(&object.location)?, object.size))
    };
    Ok(listed.into_iter().filter_map(entry).collect())
}

/// Reads the objects. Returns those that are not right.
async fn check_contents(
    bucket: &RecordingBucket,
    needed: BTreeMap<ContentHash, u64>,
) -> Result<BTreeMap<ContentHash, RemoteError>, RemoteError> {
    let checks = needed.into_iter().map(|(hash, bytes)| async move {
        let problem = check_entry(bucket, &hash, bytes).await?;
        Ok::<_, RemoteError>(problem.map(|problem| (hash, problem)))
    });
    let checks = futures_util::stream::iter(checks).buffer_unordered(PARALLEL);
    let found: Vec<Option<(ContentHash, RemoteError)>> = checks.try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// Returns what is wrong with the object of an entry, whose text has at most this many bytes.
pub(crate) async fn check_entry(
    bucket: &RecordingBucket,
    hash: &ContentHash,
    bytes: u64,
) -> Result<Option<RemoteError>, RemoteError> {
    match bucket.get_entry(hash, bytes).await {
        Ok(packed) => Ok(check_text(&packed, hash, bytes.min(LARGEST_ENTRY))
            .err()
            .map(|problem| bucket.unusable_entry(hash, problem))),
        Err(error @ RemoteError::Object { .. }) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}
