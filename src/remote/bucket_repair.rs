//! The repair of a bucket: what cannot be used is written again, from the packs that are there, from
//! the cache of this machine, from segments that are still there, and from a recording.
//!
//! Entries become objects of their own, and leave the indexes that named their packs.

use std::collections::{BTreeSet, HashSet};

use super::bucket::RecordingBucket;
use super::bucket_check::BucketCheck;
use super::cached_entries::CachedEntries;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::manifest::StateManifest;
use super::pack_search::search_packs;
use super::packed_manifest::pack_manifest;
use super::packed_text::pack_text;
use super::remote_error::RemoteError;
use super::secret_free::SecretFree;
use super::segment::{describe_take, read_segment};
use super::state_index::{IndexedPack, StateIndex};

/// Writes objects again that cannot be used. They are taken out of the check, which then has those
/// that are left. Returns how many were written.
///
/// # Errors
/// The store fails, or the recording cannot be read.
pub async fn repair_bucket(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    recording: Option<&SecretFree<'_>>,
    check: &mut BucketCheck,
) -> Result<usize, RemoteError> {
    let before = check.damaged_count();
    let mut repair = BucketRepair { bucket, check, moved: HashSet::new() };
    if !repair.check.entries.is_empty() {
        repair.search_packs().await?;
    }
    repair.repair_from_cache(cache).await?;
    if let Some(recording) = recording {
        repair.repair_from_recording(recording).await?;
    }
    if !repair.check.entries.is_empty() {
        repair.repair_from_segments().await?;
    }
    repair.write_indexes().await?;
    Ok(before - check.damaged_count())
}

/// A repair under way.
struct BucketRepair<'a> {
    bucket: &'a RecordingBucket,
    check: &'a mut BucketCheck,
    /// The entries that are objects now.
    moved: HashSet<ContentHash>,
}

impl BucketRepair<'_> {
    /// Finds entries in packs that the index does not name, since it is lost, damaged or old.
    async fn search_packs(&mut self) -> Result<(), RemoteError> {
        let lost: BTreeSet<ContentHash> = self.check.entries.keys().cloned().collect();
        let found = search_packs(self.bucket, &lost).await?;
        for (hash, packed) in found.salvaged {
            self.put_packed(&hash, packed).await?;
        }
        let packed = |pack: &IndexedPack| {
            pack.entries.iter().map(|packed| packed.entry.clone()).collect::<Vec<_>>()
        };
        let placed: HashSet<ContentHash> = found.packs.iter().flat_map(packed).collect();
        for layout in &mut self.check.layouts {
            let moved: HashSet<ContentHash> =
                placed.iter().filter(|hash| layout.needed.contains_key(hash)).cloned().collect();
            if moved.is_empty() {
                continue;
            }
            let packs = StateIndex::from_packs(found.packs.clone());
            let packs = packs.filtered(|_| true, |hash| moved.contains(hash)).packs().to_vec();
            layout.index = std::mem::take(&mut layout.index).with_packs(packs, &moved);
            self.bucket.write_index(&layout.state, &layout.index).await?;
            self.check.indexes.remove(&layout.state);
        }
        self.check.entries.retain(|hash, _| !placed.contains(hash));
        Ok(())
    }

    async fn repair_from_cache(&mut self, cache: &LocalCache) -> Result<(), RemoteError> {
        let entries: Vec<ContentHash> = self.check.entries.keys().cloned().collect();
        let states: BTreeSet<ContentHash> =
            self.check.layouts.iter().map(|layout| layout.state.clone()).collect();
        let indexes: Vec<_> = states
            .iter()
            .map(|state| cache.state_index(state))
            .chain(self.check.layouts.iter().map(|layout| layout.index.clone()))
            .collect();
        for hash in entries {
            let cached = |index| CachedEntries { cache, index }.checked_entry(&hash);
            if let Some(packed) =
                indexes.iter().find_map(cached).or_else(|| cache.checked_object(&hash))
            {
                self.put_packed(&hash, packed).await?;
            }
        }
        let manifests: Vec<ContentHash> = self.check.manifests.keys().cloned().collect();
        for hash in manifests {
            if let Some(packed) = cache.packed_manifest(&hash) {
                self.put_manifest(&hash, packed).await?;
            }
        }
        Ok(())
    }

    async fn put_manifest(
        &mut self,
        hash: &ContentHash,
        packed: Vec<u8>,
    ) -> Result<(), RemoteError> {
        self.bucket.put_manifest(hash, packed).await?;
        self.check.manifests.remove(hash);
        Ok(())
    }

    /// Writes an entry as an object. Its bytes have been checked.
    async fn put_packed(&mut self, hash: &ContentHash, packed: Vec<u8>) -> Result<(), RemoteError> {
        self.bucket.put_entry(hash, packed).await?;
        self.check.entries.remove(hash);
        self.moved.insert(hash.clone());
        Ok(())
    }

    async fn put_text(&mut self, hash: &ContentHash, text: &[u8]) -> Result<(), RemoteError> {
        if !self.check.entries.contains_key(hash) {
            return Ok(());
        }
        let packed = pack_text(text).map_err(RemoteError::at_path("the text of an entry"))?;
        self.put_packed(hash, packed).await
    }

    async fn repair_from_recording(
        &mut self,
        recording: &SecretFree<'_>,
    ) -> Result<(), RemoteError> {
        let about = recording.recording.meta().top_level_keys().clone();
        let mut manifest = StateManifest { about, ..StateManifest::default() };
        for stored in recording.recording.entries() {
            let stored = stored?;
            let (take, text) = describe_take(&stored.name, &stored.entry);
            if self.check.entries.contains_key(&take.object) {
                recording.refuse_secrets(self.bucket, &stored.name, &text)?;
                self.put_text(&take.object, &text).await?;
            }
            manifest.takes.push(take);
        }
        // A state that was pushed is made of the recording alone.
        let text = manifest.to_text();
        let hash = ContentHash::from_bytes(&text);
        match self.check.manifests.contains_key(&hash) {
            true => {
                let packed = pack_manifest(self.bucket.url(), &text)?;
                self.put_manifest(&hash, packed).await
            }
            false => Ok(()),
        }
    }

    async fn repair_from_segments(&mut self) -> Result<(), RemoteError> {
        for segment in self.bucket.list_segments().await?.into_keys() {
            let Some(bytes) = self.bucket.get_segment(&segment).await? else { continue };
            // One that is damaged has nothing to give.
            let Ok(read) = read_segment(self.bucket.url(), &segment, &bytes) else { continue };
            for (take, text) in read.takes {
                self.put_text(&take.object, &text).await?;
            }
        }
        Ok(())
    }

    /// Takes entries that are objects now out of the indexes, and writes indexes again that were
    /// damaged, once all of their entries are found.
    async fn write_indexes(&mut self) -> Result<(), RemoteError> {
        let BucketCheck { entries, indexes, layouts, .. } = &mut *self.check;
        for layout in layouts {
            self.bucket.remove_from_index(&layout.state, &layout.index, &self.moved).await?;
            let is_whole = !layout.needed.keys().any(|hash| entries.contains_key(hash));
            if is_whole && indexes.contains_key(&layout.state) {
                let moved = &self.moved;
                let index = layout.index.filtered(|_| true, |hash| !moved.contains(hash));
                self.bucket.write_index(&layout.state, &index).await?;
                indexes.remove(&layout.state);
            }
        }
        Ok(())
    }
}
