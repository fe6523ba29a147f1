//! The upload of a merged state: the entries of its new segments, its index and its manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bucket::{EntryListing, RecordingBucket};
use super::cached_entries::CachedEntries;
use super::content_hash::ContentHash;
use super::entry_download::EntryDownload;
use super::entry_writer::EntryWriter;
use super::local_cache::LocalCache;
use super::merged_state::MergedState;
use super::pack_plan::{MOST_LOOSE, plan_packs};
use super::packed_manifest::pack_manifest;
use super::packed_text::{LARGEST_ENTRY, pack_text, unpack_text};
use super::remote_error::RemoteError;
use super::state_index::{LARGEST_PACKED_ENTRY, StateIndex};

/// How many objects a merge packs anew at most. States of earlier versions have only objects, so it
/// takes several merges until few are left.
const REPACKED_AT_ONCE: usize = 1000;

/// Where the entries of the state are that segments are merged into.
pub(crate) struct MergeBase {
    pub(crate) index: StateIndex,
}

impl MergeBase {
    /// Reads the index of the state that segments are merged into.
    ///
    /// # Errors
    /// The store fails, or the index cannot be used: the merged state would not have the entries
    /// that it names.
    pub(crate) async fn read(
        bucket: &RecordingBucket,
        merged: &MergedState,
    ) -> Result<Self, RemoteError> {
        let index = match &merged.from {
            Some(from) => bucket.read_index(&from.state.manifest).await?,
            None => None,
        };
        Ok(Self { index: index.unwrap_or_default() })
    }
}

/// Uploads the entries of the new segments, then the index, then the manifest. Each entry is checked
/// first. Returns the index. The inner error is an entry that is damaged or missing in the cache: the
/// index and the manifest are not uploaded then.
///
/// # Errors
/// The store fails.
pub(crate) async fn upload_merged(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    merged: &MergedState,
    base: MergeBase,
) -> Result<Result<StateIndex, ContentHash>, RemoteError> {
    let new: BTreeSet<&ContentHash> = merged.objects.iter().collect();
    let takes = merged.manifest.takes.iter();
    let needed: BTreeMap<ContentHash, u64> =
        takes.map(|take| (take.object.clone(), take.bytes)).collect();
    // What a segment holds is written anew, so that it is right for certain.
    let index = base.index;
    let index = index.filtered(|_| true, |hash| needed.contains_key(hash) && !new.contains(hash));
    let is_loose = |hash: &&ContentHash| index.find_entry(hash).is_none() && !new.contains(*hash);
    let loose: BTreeSet<ContentHash> = needed.keys().filter(is_loose).cloned().collect();
    let loose = small_objects(bucket, loose, new.len()).await?;
    let moved = plan_packs(&index, &loose, new.len());
    let mut writer = EntryWriter::new(bucket, EntryListing::default());
    for hash in new {
        let Some(packed) = cache.checked_object(hash) else { return Ok(Err(hash.clone())) };
        writer.add(hash.clone(), packed).await?;
    }
    let moved = moved.into_iter().filter_map(|hash| needed.get_key_value(&hash));
    let moved: BTreeMap<ContentHash, u64> =
        moved.map(|(hash, &bytes)| (hash.clone(), bytes)).collect();
    let state = merged.from.as_ref().map(|from| &from.state.manifest);
    add_moved(bucket, cache, state, &moved, &mut writer).await?;
    let written = writer.finish().await?;
    let index = index.with_packs(written.packs, &written.entries);
    if !index.is_empty() {
        bucket.write_index(&merged.hash, &index).await?;
    }
    let packed = pack_manifest(bucket.url(), &merged.text)?;
    bucket.put_manifest(&merged.hash, packed).await?;
    Ok(Ok(index))
}

/// Returns those of the objects that are small, unless they are few anyway.
async fn small_objects(
    bucket: &RecordingBucket,
    loose: BTreeSet<ContentHash>,
    new: usize,
) -> Result<BTreeSet<ContentHash>, RemoteError> {
    if loose.len() + new <= MOST_LOOSE {
        return Ok(loose);
    }
    let listed = bucket.list_entries().await?.objects;
    let is_small = |hash: &ContentHash| {
        listed.get(hash).is_some_and(|&bytes| bytes > 0 && bytes <= LARGEST_PACKED_ENTRY)
    };
    Ok(loose.into_iter().filter(is_small).take(REPACKED_AT_ONCE).collect())
}

/// Adds entries that are packed anew, from the cache or the store. One that cannot be used stays
/// where it is.
async fn add_moved(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    state: Option<&ContentHash>,
    moved: &BTreeMap<ContentHash, u64>,
    writer: &mut EntryWriter,
) -> Result<(), RemoteError> {
    if moved.is_empty() {
        return Ok(());
    }
    let on_progress: Arc<dyn Fn(u64, u64) + Send + Sync> = Arc::new(|_, _| {});
    let download = EntryDownload { bucket, cache, state, on_progress: &on_progress };
    let index = download.run(moved).await?.index;
    let cached = CachedEntries { cache, index: &index };
    for hash in moved.keys() {
        let Some(packed) = cached.checked_entry(hash) else { continue };
        // What may follow a text is left behind.
        let Ok(text) = unpack_text(&packed, hash, LARGEST_ENTRY) else { continue };
        let packed = pack_text(&text).map_err(RemoteError::at_path("the text of an entry"))?;
        writer.add(hash.clone(), packed).await?;
    }
    Ok(())
}
