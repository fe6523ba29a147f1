//! The newest state of a recording: the one that the reference names, and the segments that are
//! not merged into it yet.

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use loomrec_identity::IdentityRules;
use loomrec_recording::{KeyVariables, RecordingMeta};

use super::bucket::{RecordingBucket, VersionedRef};
use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::manifest::{ManifestRecorder, ManifestTake, StateManifest};
use super::recorder_file::RecorderFile;
use super::remote_error::RemoteError;
use super::segment::{SegmentContents, read_segment};
use super::segment_plan::{GapChoice, SegmentGap, SegmentPlan, plan_segments};
use super::state_loader::{load_manifest, read_meta};

/// How many segments are downloaded at the same time. Each is in memory.
const SEGMENTS_AT_ONCE: usize = 8;

/// How often the state is read again if others merge segments meanwhile.
const TRIES: usize = 50;

/// The newest state, as it would be if all segments were merged.
pub(crate) struct MergedState {
    /// The reference that was read.
    pub(crate) from: Option<VersionedRef>,
    pub(crate) manifest: StateManifest,
    pub(crate) text: Vec<u8>,
    pub(crate) hash: ContentHash,
    /// The segments that are in it and not in the state that the reference names.
    pub(crate) new: Vec<ListedSegment>,
    /// Those that are in both, and can be removed.
    pub(crate) merged: Vec<ListedSegment>,
    /// The objects of the new segments. They are in the cache.
    pub(crate) objects: Vec<ContentHash>,
    /// The gaps in the segments of recorders. What comes after them is left out.
    pub(crate) gaps: Vec<SegmentGap>,
    /// The recorders whose segments have other rules. Their segments are left out.
    pub(crate) other_rules: Vec<String>,
}

/// Reads the newest state. It is read again if others have merged segments meanwhile.
///
/// # Errors
/// The store fails, or an object cannot be used.
pub(crate) async fn merge_new(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    choice: GapChoice,
) -> Result<MergedState, RemoteError> {
    for _ in 0..TRIES {
        let from = read_newest(bucket, cache).await?;
        let listed = bucket.list_segments().await?;
        let now = bucket.read_ref().await?;
        let generation = |at: &Option<VersionedRef>| at.as_ref().map(|at| at.state.clone());
        if generation(&from) != generation(&now) {
            continue;
        }
        if let Some(merged) = merge_listed(bucket, cache, now, listed, choice).await? {
            return Ok(merged);
        }
    }
    Err(RemoteError::Contended { url: bucket.url().to_owned() })
}

/// Merges the listed segments. Returns `None` if one has been removed meanwhile.
async fn merge_listed(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    from: Option<VersionedRef>,
    listed: BTreeMap<ListedSegment, SystemTime>,
    choice: GapChoice,
) -> Result<Option<MergedState>, RemoteError> {
    let mut manifest = match &from {
        Some(from) => load_manifest(bucket, cache, &from.state.manifest).await?,
        None => StateManifest::default(),
    };
    cache.keep_segments(bucket.url(), &unmerged_hashes(&manifest, &listed));
    let SegmentPlan { merged, next, gaps } =
        plan_segments(&manifest, listed, choice, SystemTime::now());
    let mut about = match &from {
        Some(_) => Some(read_meta(bucket, &manifest)?),
        None => None,
    };
    let Some(mut read) = read_all(bucket, cache, next).await? else { return Ok(None) };
    // If there is no state yet, the rules are those of the recorder that began first.
    read.sort_by(|one, other| {
        let key = |read: &ReadSegment| (read.recorder.started_at.clone(), read.segment.clone());
        key(one).cmp(&key(other))
    });
    let mut other_rules = Vec::new();
    let (mut recorders, mut takes, mut new, mut objects) = (vec![], vec![], vec![], vec![]);
    for read in read {
        let known = about.get_or_insert_with(|| RecordingMeta::new(&read.rules));
        if !known.rules().makes_keys_of(&read.rules) {
            other_rules.push(read.segment.recorder);
            continue;
        }
        known.add_key_variables(&read.key_variables);
        recorders.push(read.manifest_recorder());
        objects.extend(read.takes.iter().map(|take| take.object.clone()));
        takes.extend(read.takes);
        new.push(read.segment);
    }
    manifest.about = about.unwrap_or_default().top_level_keys().clone();
    if !new.is_empty() {
        manifest.add_segments(recorders, takes);
    }
    other_rules.dedup();
    let text = manifest.to_text();
    let hash = ContentHash::from_bytes(&text);
    Ok(Some(MergedState { from, manifest, text, hash, new, merged, objects, gaps, other_rules }))
}

/// Returns the rules of the newest state; `None` if there is no state yet. No entry is
/// downloaded.
///
/// # Errors
/// The store fails, or the manifest cannot be used.
pub async fn newest_rules(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<Option<IdentityRules>, RemoteError> {
    let Some(newest) = read_newest(bucket, cache).await? else { return Ok(None) };
    let manifest = load_manifest(bucket, cache, &newest.state.manifest).await?;
    Ok(Some(read_meta(bucket, &manifest)?.rules().clone()))
}

/// Returns how many segments a state does not have.
///
/// # Errors
/// The store fails.
pub(crate) async fn count_unmerged(
    bucket: &RecordingBucket,
    manifest: &StateManifest,
) -> Result<usize, RemoteError> {
    let listed = bucket.list_segments().await?;
    Ok(listed.keys().filter(|segment| !manifest.has_segment(segment)).count())
}

/// Returns the hashes of the listed segments that a state does not have.
fn unmerged_hashes<'a>(
    manifest: &StateManifest,
    listed: &'a BTreeMap<ListedSegment, SystemTime>,
) -> HashSet<&'a ContentHash> {
    let unmerged = listed.keys().filter(|segment| !manifest.has_segment(segment));
    unmerged.filter_map(|segment| segment.hash.as_ref()).collect()
}

/// A segment that was read. Its objects are in the cache.
struct ReadSegment {
    segment: ListedSegment,
    recorder: RecorderFile,
    rules: IdentityRules,
    key_variables: KeyVariables,
    takes: Vec<ManifestTake>,
}

impl ReadSegment {
    fn manifest_recorder(&self) -> ManifestRecorder {
        let times = self.takes.iter().filter_map(|take| take.recorded_at.as_ref());
        let RecorderFile { run, started_at, .. } = self.recorder.clone();
        let last_at = times.max().filter(|&last| *last > started_at).unwrap_or(&started_at).clone();
        let ListedSegment { recorder, number, .. } = self.segment.clone();
        ManifestRecorder {
            id: recorder,
            run,
            started_at,
            last_at,
            segments: number,
            missing: Vec::new(),
        }
    }
}

/// Downloads segments. Returns `None` if one has been removed since it was listed.
async fn read_all(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    segments: Vec<ListedSegment>,
) -> Result<Option<Vec<ReadSegment>>, RemoteError> {
    let mut files: BTreeMap<String, RecorderFile> = BTreeMap::new();
    for segment in &segments {
        if files.contains_key(&segment.recorder) {
            continue;
        }
        let Some(file) = bucket.read_recorder(&segment.recorder).await? else {
            // Both are removed once a segment is merged, the file after the segment.
            return match bucket.get_segment(segment).await? {
                Some(_) => Err(bucket.missing_recorder(&segment.recorder)),
                None => Ok(None),
            };
        };
        files.insert(segment.recorder.clone(), file);
    }
    let files = &files;
    let read = segments.into_iter().map(|segment| async move {
        let Some(recorder) = files.get(&segment.recorder).cloned() else { return Ok(None) };
        let Some(bytes) = get_segment(bucket, cache, &segment).await? else { return Ok(None) };
        let SegmentContents { rules, key_variables, takes } =
            read_segment(bucket.url(), &segment, &bytes)?;
        let mut described = Vec::with_capacity(takes.len());
        for (take, text) in takes {
            cache.keep_text(&take.object, &text)?;
            described.push(take);
        }
        let takes = described;
        Ok::<_, RemoteError>(Some(ReadSegment { segment, recorder, rules, key_variables, takes }))
    });
    let read = futures_util::stream::iter(read).buffered(SEGMENTS_AT_ONCE);
    let read: Vec<Option<ReadSegment>> = read.try_collect().await?;
    Ok(read.into_iter().collect())
}

/// Reads a segment from the cache, or downloads it. Returns `None` if it has been removed since it
/// was listed.
async fn get_segment(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    segment: &ListedSegment,
) -> Result<Option<Bytes>, RemoteError> {
    let known = segment.hash.as_ref().and_then(|hash| cache.checked_segment(bucket.url(), hash));
    if let Some(bytes) = known {
        return Ok(Some(bytes.into()));
    }
    let bytes = bucket.get_segment(segment).await?;
    if let (Some(bytes), Some(hash)) = (&bytes, &segment.hash)
        && ContentHash::from_bytes(bytes) == *hash
    {
        cache.put_segment(bucket.url(), hash, bytes)?;
    }
    Ok(bytes)
}
