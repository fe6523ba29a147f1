//! The repair of a bucket: objects that cannot be used are written again, from the cache of this
//! machine, from segments that are still there, and from a recording.

use super::bucket::RecordingBucket;
use super::bucket_check::BucketCheck;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::manifest::StateManifest;
use super::packed_manifest::pack_manifest;
use super::packed_text::pack_text;
use super::push::SecretFree;
use super::remote_error::RemoteError;
use super::segment::{describe_take, read_segment};

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
    let before = check.damaged();
    repair_from_cache(bucket, cache, check).await?;
    if let Some(recording) = recording {
        repair_from_recording(bucket, recording, check).await?;
    }
    if !check.entries.is_empty() {
        repair_from_segments(bucket, check).await?;
    }
    Ok(before - check.damaged())
}

async fn repair_from_cache(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    check: &mut BucketCheck,
) -> Result<(), RemoteError> {
    let entries: Vec<ContentHash> = check.entries.keys().cloned().collect();
    for hash in entries {
        if let Some(packed) = cache.object(&hash) {
            bucket.put_entry(&hash, packed).await?;
            check.entries.remove(&hash);
        }
    }
    let manifests: Vec<ContentHash> = check.manifests.keys().cloned().collect();
    for hash in manifests {
        if let Some(packed) = cache.packed_manifest(&hash) {
            put_manifest(bucket, &hash, packed, check).await?;
        }
    }
    Ok(())
}

async fn put_manifest(
    bucket: &RecordingBucket,
    hash: &ContentHash,
    packed: Vec<u8>,
    check: &mut BucketCheck,
) -> Result<(), RemoteError> {
    bucket.put_manifest(hash, packed).await?;
    check.manifests.remove(hash);
    Ok(())
}

async fn put_entry(
    bucket: &RecordingBucket,
    hash: &ContentHash,
    text: &[u8],
    check: &mut BucketCheck,
) -> Result<(), RemoteError> {
    if !check.entries.contains_key(hash) {
        return Ok(());
    }
    let packed = pack_text(text).map_err(RemoteError::at("the text of an entry"))?;
    bucket.put_entry(hash, packed).await?;
    check.entries.remove(hash);
    Ok(())
}

async fn repair_from_recording(
    bucket: &RecordingBucket,
    recording: &SecretFree<'_>,
    check: &mut BucketCheck,
) -> Result<(), RemoteError> {
    let about = recording.recording.meta().keys().clone();
    let mut manifest = StateManifest { about, ..StateManifest::default() };
    for stored in recording.recording.entries() {
        let stored = stored?;
        let (take, text) = describe_take(&stored.name, &stored.entry);
        if check.entries.contains_key(&take.object) {
            recording.refuse_secrets(bucket, &stored.name, &text)?;
            put_entry(bucket, &take.object, &text, check).await?;
        }
        manifest.takes.push(take);
    }
    // A state that was pushed is made of the recording alone.
    let text = manifest.to_text();
    let hash = ContentHash::from_bytes(&text);
    match check.manifests.contains_key(&hash) {
        true => {
            let packed = pack_manifest(bucket.url(), &text)?;
            put_manifest(bucket, &hash, packed, check).await
        }
        false => Ok(()),
    }
}

async fn repair_from_segments(
    bucket: &RecordingBucket,
    check: &mut BucketCheck,
) -> Result<(), RemoteError> {
    for segment in bucket.list_segments().await?.into_keys() {
        let Some(bytes) = bucket.get_segment(&segment).await? else { continue };
        // One that is damaged has nothing to give.
        let Ok(read) = read_segment(bucket.url(), &segment, &bytes) else { continue };
        for (take, text) in read.takes {
            put_entry(bucket, &take.object, &text, check).await?;
        }
    }
    Ok(())
}
