//! The download of entries that are objects of their own into the cache.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::download_progress::{DownloadProgress, DownloadRoom};
use super::local_cache::LocalCache;
use super::object_access::PARALLEL;
use super::packed_text::{LARGEST_ENTRY, check_text};
use super::remote_error::RemoteError;

/// Downloads objects, each with the length of its text, and checks each against its hash. Returns
/// those that cannot be used, and why. The others stay in the cache.
///
/// # Errors
/// The store fails.
pub(crate) async fn download_objects(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    wanted: Vec<(ContentHash, u64)>,
    progress: &mut DownloadProgress<'_>,
) -> Result<BTreeMap<ContentHash, RemoteError>, RemoteError> {
    let room = DownloadRoom::new();
    let downloads = wanted.into_iter().map(|(hash, bytes)| {
        let (bucket, cache, room) = (bucket.clone(), cache.clone(), room.clone());
        // A task for each, so that all processors work on them.
        tokio::spawn(async move {
            let _room = room.wait_for_room(bytes).await;
            let downloaded = download_object(&bucket, &cache, &hash, bytes).await;
            (hash, downloaded)
        })
    });
    let mut downloads = futures_util::stream::iter(downloads).buffer_unordered(PARALLEL);
    let mut damaged = BTreeMap::new();
    while let Some(downloaded) = downloads.next().await {
        let ended = downloaded.map_err(|error| std::io::Error::other(error.to_string()));
        let (hash, downloaded) =
            ended.map_err(RemoteError::at_path("the download of an object"))?;
        match downloaded {
            // All of them are found, so that `verify` can name them.
            Err(error @ RemoteError::Object { .. }) => drop(damaged.insert(hash, error)),
            downloaded => downloaded?,
        }
        progress.note_arrived(1);
    }
    Ok(damaged)
}

async fn download_object(
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
    kept.map_err(RemoteError::at_path("the cache"))?
}
