//! The download of entries in packs into the cache.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::download_progress::{DownloadProgress, DownloadRoom};
use super::local_cache::LocalCache;
use super::object_access::PARALLEL;
use super::pack_read::{PackBytes, PackRead};
use super::remote_error::RemoteError;

/// Entries that a pack does not have, or has damaged, and why.
pub(crate) type LostEntries = BTreeMap<ContentHash, String>;

/// Downloads packs, and checks each needed entry against its hash. Returns the entries that could not
/// be had.
///
/// # Errors
/// The store fails.
pub(crate) async fn download_packs(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    reads: Vec<PackRead>,
    progress: &mut DownloadProgress<'_>,
) -> Result<LostEntries, RemoteError> {
    let room = DownloadRoom::new();
    let downloads = reads.into_iter().map(|read| {
        let (bucket, cache, room) = (bucket.clone(), cache.clone(), room.clone());
        // A task for each, so that all processors work on them.
        tokio::spawn(async move {
            let _room = room.wait_for_room(read.bytes).await;
            let entries = read.entries.len();
            let lost = download_pack(&bucket, &cache, read).await?;
            Ok::<_, RemoteError>((entries - lost.len(), lost))
        })
    });
    let mut downloads = futures_util::stream::iter(downloads).buffer_unordered(PARALLEL);
    let mut lost = LostEntries::new();
    while let Some(downloaded) = downloads.next().await {
        let ended = downloaded.map_err(|error| std::io::Error::other(error.to_string()));
        let (done, found) = ended.map_err(RemoteError::at_path("the download of a pack"))??;
        lost.extend(found);
        progress.note_arrived(done as u64);
    }
    Ok(lost)
}

async fn download_pack(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    read: PackRead,
) -> Result<LostEntries, RemoteError> {
    let path = bucket.pack_path(&read.pack);
    let bytes = match read.read(bucket).await? {
        Ok(bytes) => bytes,
        Err(problem) => {
            let lost = |hash| (hash, format!("{path}: {problem}"));
            return Ok(read.entries.into_iter().map(|wanted| lost(wanted.hash)).collect());
        }
    };
    // Files are synced, which may take a while.
    let cache = cache.clone();
    let kept = tokio::task::spawn_blocking(move || keep_pack(&cache, &read, &bytes));
    let kept = kept.await.map_err(|error| std::io::Error::other(error.to_string()));
    let lost = kept.map_err(RemoteError::at_path("the cache"))??;
    Ok(lost.into_iter().map(|(hash, problem)| (hash, format!("{path}: {problem}"))).collect())
}

/// Keeps a pack if it is right, else its entries that are.
fn keep_pack(
    cache: &LocalCache,
    read: &PackRead,
    bytes: &PackBytes,
) -> Result<LostEntries, RemoteError> {
    let mut lost = LostEntries::new();
    let mut right = Vec::with_capacity(read.entries.len());
    for wanted in &read.entries {
        match bytes.checked_entry(wanted) {
            Ok(packed) => right.push((&wanted.hash, packed)),
            Err(problem) => drop(lost.insert(wanted.hash.clone(), problem)),
        }
    }
    if lost.is_empty() && bytes.is_right(&read.pack) {
        cache.put_pack(&read.pack, &bytes.0)?;
        return Ok(lost);
    }
    for (hash, packed) in right {
        cache.put_object(hash, packed)?;
    }
    Ok(lost)
}
