//! The removal of all that the newest state does not need, at once, and of whole recordings.

use std::collections::HashSet;

use super::bucket::{EntryListing, RecordingBucket};
use super::bucket_check::check_bucket;
use super::collection::GarbageList;
use super::content_hash::ContentHash;
use super::entry_check::{CheckDepth, StateLayout, check_entries};
use super::entry_writer::EntryWriter;
use super::local_cache::LocalCache;
use super::lost_ref::read_newest;
use super::merged_state::count_unmerged;
use super::object_name::ObjectName;
use super::pack_read::{PackRead, group_by_pack};
use super::packed_text::{pack_text, unpack_text};
use super::remote_error::RemoteError;
use super::state_index::StateIndex;
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
    packs: Vec<ContentHash>,
    newest: Option<NewestPacks>,
}

/// The packs of the newest state.
#[derive(Debug)]
struct NewestPacks {
    state: ContentHash,
    index: StateIndex,
    /// The packs that hold something which the state does not need.
    rewritten: Vec<PackRead>,
}

/// Finds what the newest state does not need, however young it is.
///
/// # Errors
/// The store fails, or there is no newest state, or an entry of it is not found: nothing says which
/// pack holds it. [`RemoteError::UnmergedPurge`] if there are segments that no state has: they may
/// hold what is to be removed.
pub async fn find_purgeable(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<PurgeList, RemoteError> {
    let newest =
        read_newest(bucket, cache).await?.ok_or_else(|| missing_recording(bucket))?.state.manifest;
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
    let index = bucket.read_index(&newest).await?.unwrap_or_default();
    let layout = StateLayout::new(newest.clone(), index, &manifest);
    // A pack whose index is lost looks as if nothing needed it.
    let layouts = std::slice::from_ref(&layout);
    let broken = check_entries(bucket, layouts, CheckDepth::Listing).await?;
    if let Some(error) = RemoteError::join_objects(broken.into_values().collect()) {
        return Err(error);
    }
    let index = layout.index.filtered(|_| true, |hash| layout.needed.contains_key(hash));
    let clean: HashSet<&ContentHash> = index
        .packs()
        .iter()
        .filter(|pack| pack.covered_bytes() == pack.bytes)
        .map(|pack| &pack.pack)
        .collect();
    for (tag, state) in bucket.list_tags().await? {
        if state != newest {
            list.garbage.add(tag.clone());
            list.tags.extend(tag.location.filename().map(str::to_owned));
        }
    }
    for part in ["manifests", "indexes", "objects", "packs", "runs"] {
        for object in bucket.list_objects(part).await? {
            let Some(name) = bucket.object_name(&object.location) else { continue };
            let hash = ContentHash::of_path(&object.location);
            match (name, hash) {
                (ObjectName::Manifest, Some(hash)) if hash != newest => {
                    list.states.push((hash, object.last_modified.to_rfc3339()));
                }
                (ObjectName::Index, Some(hash)) if hash != newest => {}
                (ObjectName::Entry, Some(hash)) if !layout.needed.contains_key(&hash) => {
                    list.entries.push(hash);
                }
                (ObjectName::Pack, Some(hash)) if !clean.contains(&hash) => list.packs.push(hash),
                // All of them are merged.
                (ObjectName::Segment, _) => {}
                _ => continue,
            }
            list.garbage.add(object);
        }
    }
    let entries = layout.needed.iter().map(|(hash, &text)| (hash, text));
    let (mut rewritten, _) = group_by_pack(&index, entries);
    rewritten.retain(|read| !clean.contains(&read.pack));
    list.newest = Some(NewestPacks { state: newest, index, rewritten });
    Ok(list)
}

impl PurgeList {
    /// Returns how many packs are written again, without what the newest state does not need.
    pub fn rewritten_packs(&self) -> usize {
        self.newest.as_ref().map_or(0, |newest| newest.rewritten.len())
    }

    /// Writes packs again, removes the objects, also from the cache of this machine, and checks that
    /// the newest state is whole.
    ///
    /// # Errors
    /// The store fails: some may be removed, and the rest is found again. An entry in a pack that is
    /// written again cannot be used: nothing is removed. An object that the newest state needs is not
    /// there: somebody changed the recording meanwhile.
    pub async fn remove_objects(
        mut self,
        bucket: &RecordingBucket,
        cache: &LocalCache,
    ) -> Result<(), RemoteError> {
        if let Some(newest) = self.newest.take() {
            let state = newest.state.clone();
            let written = newest.write_again(bucket).await?;
            self.garbage
                .exclude_needed(&written.iter().map(|pack| bucket.pack_path(pack)).collect());
            self.packs.retain(|pack| !written.contains(pack));
            cache.drop_index(&state);
        }
        self.garbage.remove_objects(bucket).await?;
        self.packs.iter().for_each(|pack| cache.drop_pack(pack));
        cache.keep_segments(bucket.url(), &HashSet::new());
        self.entries.iter().for_each(|hash| cache.drop_object(hash));
        self.states.iter().for_each(|(hash, _)| cache.drop_state(hash));
        let check = check_bucket(bucket, cache, None, CheckDepth::Listing).await?;
        check.into_error().map_or(Ok(()), Err)
    }
}

impl NewestPacks {
    /// Writes packs again with what the state needs alone, and then the index. Returns the new packs.
    async fn write_again(
        self,
        bucket: &RecordingBucket,
    ) -> Result<HashSet<ContentHash>, RemoteError> {
        if self.rewritten.is_empty() {
            return Ok(HashSet::new());
        }
        let mut writer = EntryWriter::new(bucket, EntryListing::default());
        for read in self.rewritten {
            let in_pack = |problem: String| format!("{}: {problem}", bucket.pack_path(&read.pack));
            let bytes = read.read(bucket).await?;
            for wanted in &read.entries {
                let packed = match &bytes {
                    Ok(bytes) => bytes.checked_entry(wanted),
                    Err(problem) => Err(problem.clone()),
                };
                // What may follow a text is left behind.
                let text = packed.and_then(|packed| unpack_text(packed, &wanted.hash, wanted.text));
                let text =
                    text.map_err(|problem| bucket.unusable_entry(&wanted.hash, in_pack(problem)))?;
                let packed =
                    pack_text(&text).map_err(RemoteError::at_path("the text of an entry"))?;
                writer.add(wanted.hash.clone(), packed).await?;
            }
        }
        let written = writer.finish().await?;
        let packs = written.packs.iter().map(|pack| pack.pack.clone()).collect();
        let index = self.index.with_packs(written.packs, &written.entries);
        bucket.write_index(&self.state, &index).await?;
        Ok(packs)
    }
}

/// Finds every object of a recording.
///
/// # Errors
/// The store fails, or has no such recording.
pub async fn find_recording(bucket: &RecordingBucket) -> Result<GarbageList, RemoteError> {
    let mut list = GarbageList::default();
    for object in bucket.list_objects("").await? {
        if bucket.object_name(&object.location).is_some() {
            list.add(object);
        }
    }
    if list.paths().len() == 0 {
        return Err(missing_recording(bucket));
    }
    Ok(list)
}

fn missing_recording(bucket: &RecordingBucket) -> RemoteError {
    RemoteError::NotFound {
        what: "a recording".to_owned(),
        url: bucket.url().to_owned(),
        hint: "check the name",
    }
}
