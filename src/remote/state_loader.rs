//! The manifests of states, from the cache or the store, and what they say of a recording.

use loomrec_recording::RecordingMeta;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::local_cache::LocalCache;
use super::manifest::{ManifestTake, StateManifest};
use super::packed_text::{LARGEST_MANIFEST, check_text};
use super::remote_error::RemoteError;
use super::take_order::visible_takes;

/// The numbers of a state, for people and pointer files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSize {
    /// How many takes it has.
    pub takes: u64,
    /// How many bytes the texts of its entries have.
    pub bytes: u64,
}

/// Loads a manifest from the cache or the store.
///
/// # Errors
/// The store fails, has no such state, or its text cannot be used.
pub async fn load_manifest(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    hash: &ContentHash,
) -> Result<StateManifest, RemoteError> {
    let packed = match cache.packed_manifest(hash) {
        Some(packed) => packed,
        None => {
            let packed = bucket.get_manifest(hash).await?;
            let packed = packed.ok_or_else(|| RemoteError::NotFound {
                what: format!("the state {hash}"),
                url: bucket.url().to_owned(),
                hint: "it may have been removed by loomrec gc",
            })?;
            check_text(&packed, hash, LARGEST_MANIFEST)
                .map_err(|problem| bucket.unusable_manifest(hash, problem))?;
            cache.put_manifest(hash, &packed)?;
            packed.into()
        }
    };
    StateManifest::from_packed(&packed)
        .map_err(|source| RemoteError::Manifest { url: bucket.url().to_owned(), source })
}

/// Returns the takes of a state, in the order of its recording.
pub(crate) fn takes_in_order(manifest: &StateManifest) -> Vec<&ManifestTake> {
    let names = visible_takes(manifest);
    names.iter().flat_map(|name| name.takes.iter().map(|&at| &manifest.takes[at])).collect()
}

/// Returns the numbers of a state.
pub fn state_size(manifest: &StateManifest) -> StateSize {
    let takes = takes_in_order(manifest);
    let bytes = takes.iter().map(|take| take.bytes).sum();
    StateSize { takes: takes.len() as u64, bytes }
}

/// Reads the metadata of the recording that a state is of.
pub(crate) fn read_meta(
    bucket: &RecordingBucket,
    manifest: &StateManifest,
) -> Result<RecordingMeta, RemoteError> {
    RecordingMeta::parse(manifest.about.clone()).map_err(|error| RemoteError::Object {
        path: "manifests".to_owned(),
        url: bucket.url().to_owned(),
        problem: error.to_string(),
    })
}
