//! The upload of the entries of a recording that is pushed: those that the store does not have, and
//! those that are packed anew.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::bucket::{EntryListing, RecordingBucket};
use super::content_hash::ContentHash;
use super::download_progress::OnFetchProgress;
use super::entry_writer::EntryWriter;
use super::manifest::{ManifestTake, StateManifest};
use super::object_access::PARALLEL;
use super::pack_plan::plan_packs;
use super::packed_text::pack_text;
use super::remote_error::RemoteError;
use super::secret_free::SecretFree;
use super::segment::describe_take;
use super::state_index::{LARGEST_PACKED_ENTRY, StateIndex};

/// What a bucket has of entries.
pub(crate) struct KnownEntries {
    /// Those that its newest state names, whether they are there or not.
    named: HashSet<ContentHash>,
    /// What is there.
    listing: EntryListing,
    /// The packs of the newest state that are there.
    index: StateIndex,
}

/// The entries of a state that were uploaded.
pub(crate) struct UploadedState {
    /// Where its entries are.
    pub(crate) index: StateIndex,
    /// How many packs and objects were uploaded.
    pub(crate) objects: u64,
}

/// Returns the takes of a recording, as pushed ones.
///
/// # Errors
/// The recording cannot be read, or an entry holds a secret.
pub(crate) fn describe_takes(
    bucket: &RecordingBucket,
    recording: &SecretFree<'_>,
) -> Result<Vec<ManifestTake>, RemoteError> {
    let mut takes = Vec::new();
    for stored in recording.recording.entries() {
        let stored = stored?;
        let (take, text) = describe_take(&stored.name, &stored.entry);
        recording.refuse_secrets(bucket, &stored.name, &text)?;
        takes.push(take);
    }
    Ok(takes)
}

impl KnownEntries {
    /// Reads what a bucket has, and what its newest state names.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn read(
        bucket: &RecordingBucket,
        newest: Option<&ContentHash>,
        manifest: &StateManifest,
    ) -> Result<Self, RemoteError> {
        let named = manifest.takes.iter().map(|take| take.object.clone()).collect();
        let listing = bucket.list_entries().await?;
        let index = match newest {
            Some(newest) => match bucket.read_index(newest).await {
                // All entries are uploaded again.
                Err(RemoteError::Object { .. }) => StateIndex::default(),
                index => index?.unwrap_or_default(),
            },
            None => StateIndex::default(),
        };
        let index = index.filtered(|pack| listing.has_pack(pack), |_| true);
        Ok(Self { named, listing, index })
    }

    /// Uploads the entries that are not known, or known with another length. Progress counts takes.
    ///
    /// # Errors
    /// The recording cannot be read, or the store fails.
    pub(crate) async fn upload_unknown(
        self,
        bucket: &RecordingBucket,
        recording: &SecretFree<'_>,
        manifest: &StateManifest,
        on_progress: &OnFetchProgress,
    ) -> Result<UploadedState, RemoteError> {
        let needed: HashSet<ContentHash> =
            manifest.takes.iter().map(|take| take.object.clone()).collect();
        let index = self.index.filtered(|_| true, |hash| needed.contains(hash));
        let staying = self.staying_entries(&index, &needed);
        let total = recording.recording.most_takes() as u64;
        on_progress(0, total);
        let mut seen: HashSet<ContentHash> = HashSet::new();
        let texts = recording.recording.entries().filter_map(|stored| match stored {
            Ok(stored) => {
                let (take, text) = describe_take(&stored.name, &stored.entry);
                seen.insert(take.object.clone()).then_some(Ok((take.object, text)))
            }
            Err(error) => Some(Err(RemoteError::from(error))),
        });
        let packed = texts.map(|text| async move {
            let (hash, text) = text?;
            let packed = tokio::task::spawn_blocking(move || pack_text(&text)).await;
            let packed = packed.map_err(std::io::Error::other).flatten();
            let packed = packed.map_err(RemoteError::at_path("the text of an entry"))?;
            Ok::<_, RemoteError>((hash, packed))
        });
        let mut packed = std::pin::pin!(futures_util::stream::iter(packed).buffered(PARALLEL));
        let mut writer = EntryWriter::new(bucket, self.listing);
        let mut kept = manifest.takes.len() as u64 - needed.len() as u64;
        while let Some((hash, packed)) = packed.try_next().await? {
            match staying.get(&hash) {
                Some(&length) if length == packed.len() as u64 => kept += 1,
                _ => writer.add(hash, packed).await?,
            }
            on_progress(kept + writer.written_count()?, total);
        }
        let written = writer.finish().await?;
        on_progress(kept + written.done, total);
        let index = index.with_packs(written.packs, &written.entries);
        Ok(UploadedState { index, objects: written.uploaded })
    }

    /// Returns the entries that stay where they are, with their lengths there in bytes.
    fn staying_entries(
        &self,
        index: &StateIndex,
        needed: &HashSet<ContentHash>,
    ) -> HashMap<ContentHash, u64> {
        let mut known = HashMap::new();
        let mut loose = BTreeSet::new();
        for hash in needed {
            if let Some((_, place)) = index.find_entry(hash) {
                known.insert(hash.clone(), place.length);
            } else if let Some(&length) = self.listing.objects.get(hash)
                && self.named.contains(hash)
            {
                known.insert(hash.clone(), length);
                if length <= LARGEST_PACKED_ENTRY {
                    loose.insert(hash.clone());
                }
            }
        }
        for moved in plan_packs(index, &loose, needed.len() - known.len()) {
            known.remove(&moved);
        }
        known
    }
}
