//! The download of entries into the cache.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tokio::sync::Semaphore;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::manifest::ManifestTake;
use super::object_access::PARALLEL;
use super::packed_text::{LARGEST_ENTRY, check_text};
use super::remote_error::RemoteError;

/// The unit of the room for objects in memory, in bytes.
const UNIT: u64 = 4 << 10;

/// The room for objects in memory, in units: 64 MiB of texts. A larger one is alone.
const ROOM: u32 = 16 << 10;

/// The callback for progress: how many objects are there, and how many are needed.
pub type OnFetchProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Downloads objects, and checks each against its hash. Returns how many there were.
///
/// # Errors
/// The store fails, or objects cannot be used: all of them are named. Those that have arrived stay.
pub(crate) async fn download_objects(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    missing: Vec<&ManifestTake>,
    on_progress: &OnFetchProgress,
) -> Result<u64, RemoteError> {
    let total = missing.len() as u64;
    let room = Arc::new(Semaphore::new(ROOM as usize));
    let downloads = missing.into_iter().map(|take| {
        let (bucket, cache, room) = (bucket.clone(), cache.clone(), Arc::clone(&room));
        let (hash, bytes) = (take.object.clone(), take.bytes);
        // A task for each, so that all processors work on them.
        tokio::spawn(async move {
            let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(ROOM).clamp(1, ROOM);
            // The semaphore is never closed.
            let _room = room.acquire_many(units).await;
            download(&bucket, &cache, &hash, bytes).await
        })
    });
    let mut downloads = futures_util::stream::iter(downloads).buffer_unordered(PARALLEL);
    let (mut done, mut damaged) = (0, Vec::new());
    on_progress(done, total);
    while let Some(downloaded) = downloads.next().await {
        let ended = downloaded.map_err(|error| std::io::Error::other(error.to_string()));
        match ended.map_err(RemoteError::at("the download of an object"))? {
            // All of them are found, so that `verify` can name them.
            Err(error @ RemoteError::Object { .. }) => damaged.push(error),
            downloaded => downloaded?,
        }
        done += 1;
        on_progress(done, total);
    }
    match RemoteError::join_objects(damaged) {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

async fn download(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    hash: &ContentHash,
    bytes: u64,
) -> Result<(), RemoteError> {
    let packed = bucket.get_entry(hash, bytes).await?;
    // Its file is synced, which may take a while.
    let (bucket, cache, hash) = (bucket.clone(), cache.clone(), hash.clone());
    let kept = tokio::task::spawn_blocking(move || {
        check_text(&packed, &hash, bytes.min(LARGEST_ENTRY))
            .map_err(|problem| bucket.unusable_entry(&hash, problem))?;
        cache.put_object(&hash, &packed)
    });
    let kept = kept.await.map_err(|error| std::io::Error::other(error.to_string()));
    kept.map_err(RemoteError::at("the cache"))?
}
