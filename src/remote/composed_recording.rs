//! The check of a recording in the cache against the manifest that it was composed of.

use std::path::Path;

use loomrec_recording::RecordingMeta;
use loomrec_store::{Recording, StoreError};

use super::manifest::StateManifest;
use super::segment::describe_take;
use super::state_loader::takes_in_order;

/// Whether a recording is that of a state: its entries have the hashes that the manifest names, in
/// the same order and under the same names.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn is_of_state(recording: &Path, manifest: &StateManifest) -> Result<bool, StoreError> {
    let Ok(about) = RecordingMeta::parse(manifest.about.clone()) else { return Ok(false) };
    let recording = Recording::open(recording)?;
    if recording.meta().top_level_keys() != about.top_level_keys() {
        return Ok(false);
    }
    let mut takes = takes_in_order(manifest).into_iter();
    for stored in recording.entries() {
        let stored = stored?;
        let Some(take) = takes.next() else { return Ok(false) };
        let (found, _) = describe_take(&stored.name, &stored.entry);
        if found.object != take.object || found.name != take.name {
            return Ok(false);
        }
    }
    Ok(takes.next().is_none())
}
