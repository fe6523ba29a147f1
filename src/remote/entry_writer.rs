//! The writing of entries to a bucket: many small ones into packs, others as objects.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::bucket::{EntryListing, RecordingBucket};
use super::content_hash::ContentHash;
use super::object_access::PARALLEL;
use super::pack_builder::{BuiltPack, PackBuilder};
use super::pack_plan::SMALLEST_PACK;
use super::remote_error::RemoteError;
use super::state_index::{IndexedPack, LARGEST_PACKED_ENTRY};

/// How much of the room for uploads a pack takes: each is in memory.
const PACK_ROOM: u32 = 8;

/// Entries on their way into a bucket.
pub(crate) struct EntryWriter {
    bucket: RecordingBucket,
    /// What is there. It need not be sent to find that out.
    listing: EntryListing,
    builder: PackBuilder,
    room: Arc<Semaphore>,
    uploads: JoinSet<Result<UploadedEntries, RemoteError>>,
    written: WrittenEntries,
}

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct WrittenEntries {
    /// The packs.
    pub(crate) packs: Vec<IndexedPack>,
    /// All entries.
    pub(crate) entries: HashSet<ContentHash>,
    /// How many packs and objects were uploaded: others were there, and right.
    pub(crate) uploaded: u64,
    /// How many entries are there for certain.
    pub(crate) done: u64,
}

/// An upload that has ended.
struct UploadedEntries {
    entries: u64,
    is_new: bool,
}

impl EntryWriter {
    /// Begins to write to a bucket.
    pub(crate) fn new(bucket: &RecordingBucket, listing: EntryListing) -> Self {
        Self {
            bucket: bucket.clone(),
            listing,
            builder: PackBuilder::default(),
            room: Arc::new(Semaphore::new(PARALLEL)),
            uploads: JoinSet::new(),
            written: WrittenEntries::default(),
        }
    }

    /// Adds an entry, as it is stored. Its bytes have been checked.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn add(
        &mut self,
        entry: ContentHash,
        packed: Vec<u8>,
    ) -> Result<(), RemoteError> {
        self.written.entries.insert(entry.clone());
        if packed.len() as u64 > LARGEST_PACKED_ENTRY {
            return self.upload_object(entry, packed).await;
        }
        if !self.builder.has_room(packed.len()) {
            self.upload_pack().await?;
        }
        self.builder.add(entry, &packed);
        Ok(())
    }

    /// Returns how many entries are there for certain.
    ///
    /// # Errors
    /// The store has failed.
    pub(crate) fn written_count(&mut self) -> Result<u64, RemoteError> {
        while let Some(ended) = self.uploads.try_join_next() {
            self.note_upload(ended)?;
        }
        Ok(self.written.done)
    }

    /// Writes the rest, and waits until everything is there and right.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn finish(mut self) -> Result<WrittenEntries, RemoteError> {
        self.upload_pack().await?;
        while let Some(ended) = self.uploads.join_next().await {
            self.note_upload(ended)?;
        }
        Ok(self.written)
    }

    fn note_upload(
        &mut self,
        ended: Result<Result<UploadedEntries, RemoteError>, tokio::task::JoinError>,
    ) -> Result<(), RemoteError> {
        let ended = ended.map_err(|error| std::io::Error::other(error.to_string()));
        let uploaded = ended.map_err(RemoteError::at_path("the upload of an object"))??;
        self.written.done += uploaded.entries;
        self.written.uploaded += u64::from(uploaded.is_new);
        Ok(())
    }

    /// Closes the pack. If it is not worth one, its entries become objects.
    async fn upload_pack(&mut self) -> Result<(), RemoteError> {
        let built = self.builder.take_pack();
        if built.indexed.entries.len() < SMALLEST_PACK {
            for (entry, packed) in built.into_entries() {
                self.upload_object(entry, packed).await?;
            }
            return Ok(());
        }
        let BuiltPack { bytes, indexed } = built;
        let (bucket, pack) = (self.bucket.clone(), indexed.pack.clone());
        let is_listed = self.listing.packs.contains_key(&pack);
        let entries = indexed.entries.len() as u64;
        self.written.packs.push(indexed);
        self.start_upload(PACK_ROOM, entries, async move {
            bucket.put_pack(&pack, bytes, is_listed).await
        })
        .await
    }

    async fn upload_object(
        &mut self,
        entry: ContentHash,
        packed: Vec<u8>,
    ) -> Result<(), RemoteError> {
        let bucket = self.bucket.clone();
        let is_listed = self.listing.objects.contains_key(&entry);
        self.start_upload(1, 1, async move {
            match is_listed {
                true => bucket.renew_entry(&entry, packed).await,
                false => bucket.put_entry(&entry, packed).await.map(|()| true),
            }
        })
        .await
    }

    /// Starts an upload once there is room for it.
    async fn start_upload(
        &mut self,
        room: u32,
        entries: u64,
        upload: impl Future<Output = Result<bool, RemoteError>> + Send + 'static,
    ) -> Result<(), RemoteError> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.room).acquire_many_owned(room).await.ok();
        self.uploads.spawn(async move {
            let is_new = upload.await?;
            drop(permit);
            Ok(UploadedEntries { entries, is_new })
        });
        self.written_count().map(drop)
    }
}
