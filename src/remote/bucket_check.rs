//! The check of a bucket: whether the objects that its states name are there and right.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::SystemTime;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::entry_check::{CheckDepth, StateLayout, check_entries};
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::manifest::StateManifest;
use super::packed_text::{LARGEST_MANIFEST, check_text};
use super::remote_error::RemoteError;
use super::segment_plan::{GapChoice, plan_segments, refuse_gaps};
use super::state_index::StateIndex;

/// What a check found.
#[derive(Debug, Default)]
pub struct BucketCheck {
    /// How many states were checked.
    pub states: usize,
    /// How many entries they name.
    pub objects: usize,
    /// How many segments of recorders are known to be lost.
    pub missing_segments: usize,
    /// Whether the objects of a state are not known, since its manifest cannot be read.
    pub is_partial: bool,
    /// The objects of entries that cannot be used, and why.
    pub(crate) entries: BTreeMap<ContentHash, RemoteError>,
    /// The manifests that cannot be used, and why.
    pub(crate) manifests: BTreeMap<ContentHash, RemoteError>,
    /// The states whose indexes cannot be used, and why.
    pub(crate) indexes: BTreeMap<ContentHash, RemoteError>,
    /// Where the entries are of each state that is not whole.
    pub(crate) layouts: Vec<StateLayout>,
}

impl BucketCheck {
    /// Returns how many objects cannot be used.
    pub fn damaged_count(&self) -> usize {
        self.entries.len() + self.manifests.len() + self.indexes.len()
    }

    /// Returns the error that names the objects that cannot be used; `None` if all are right.
    pub fn into_error(self) -> Option<RemoteError> {
        let states = self.manifests.into_values().chain(self.indexes.into_values());
        RemoteError::join_objects(states.chain(self.entries.into_values()).collect())
    }
}

/// Checks the objects of a state; without one, those of the newest state and of those with tags. A
/// check of contents then takes every state that the store lists: pointer files may name it, and
/// the collection of garbage keeps it until it is old.
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
        None => {
            let mut states = named_states(bucket, cache).await?;
            if depth == CheckDepth::Contents {
                states.extend(bucket.listed_states().await?.into_iter().map(|(state, _)| state));
            }
            states
        }
    };
    let mut check = BucketCheck { states: states.len(), ..BucketCheck::default() };
    let mut seen = SeenEntries::default();
    let mut layouts = Vec::new();
    for state in states {
        layouts.extend(check.read_layout(bucket, cache, state).await?);
        // The contents of all states can be large: one state after the other is in memory.
        if depth == CheckDepth::Contents {
            check.check_layouts(bucket, std::mem::take(&mut layouts), depth, &mut seen).await?;
        }
    }
    check.check_layouts(bucket, layouts, depth, &mut seen).await?;
    check.objects = seen.entries.len();
    Ok(check)
}

/// What a check has seen of earlier states.
#[derive(Debug, Default)]
struct SeenEntries {
    entries: HashSet<ContentHash>,
    /// The entries that can be used, each with the pack that the index names.
    usable: HashSet<(ContentHash, Option<ContentHash>)>,
}

impl BucketCheck {
    /// Reads what a state names. `None` if its manifest cannot be read.
    async fn read_layout(
        &mut self,
        bucket: &RecordingBucket,
        cache: &LocalCache,
        state: ContentHash,
    ) -> Result<Option<StateLayout>, RemoteError> {
        let manifest = match read_manifest(bucket, &state).await? {
            Ok(manifest) => Some(manifest),
            Err(problem) => {
                self.manifests.insert(state.clone(), problem);
                cache.checked_manifest(&state)
            }
        };
        let Some(manifest) = manifest else {
            self.is_partial = true;
            return Ok(None);
        };
        let missing = manifest.recorders.iter().map(|recorder| recorder.missing.len());
        self.missing_segments = self.missing_segments.max(missing.sum());
        let index = match bucket.read_index(&state).await {
            Err(error @ RemoteError::Object { .. }) => {
                self.indexes.insert(state.clone(), error);
                StateIndex::default()
            }
            index => index?.unwrap_or_default(),
        };
        Ok(Some(StateLayout::new(state, index, &manifest)))
    }

    /// Checks the entries of states, and keeps the layouts of those that are not whole.
    async fn check_layouts(
        &mut self,
        bucket: &RecordingBucket,
        layouts: Vec<StateLayout>,
        depth: CheckDepth,
        seen: &mut SeenEntries,
    ) -> Result<(), RemoteError> {
        let place = |layout: &StateLayout, hash: &ContentHash| {
            (hash.clone(), layout.index.find_entry(hash).map(|(pack, _)| pack.pack.clone()))
        };
        let unknown: Vec<StateLayout> = layouts
            .iter()
            .map(|layout| layout.only_wanted(|hash| !seen.usable.contains(&place(layout, hash))))
            .collect();
        let damaged = check_entries(bucket, &unknown, depth).await?;
        for layout in layouts {
            let is_damaged = |hash: &ContentHash| damaged.contains_key(hash);
            seen.entries.extend(layout.needed.keys().cloned());
            let usable = layout.needed.keys().filter(|hash| !is_damaged(hash));
            seen.usable.extend(usable.map(|hash| place(&layout, hash)));
            let is_whole = !layout.needed.keys().any(is_damaged);
            if !is_whole || self.indexes.contains_key(&layout.state) {
                self.layouts.push(layout);
            }
        }
        self.entries.extend(damaged);
        Ok(())
    }
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
