//! The recordings in object stores that pointer files name. A file of settings that names a pointer
//! file leads to where that one points.

use std::path::Path;

use serde::Deserialize;

use super::setting::Setting;
use loomrec_store::RecordingLocation;

/// The most bytes that a pointer file can have.
const LARGEST: u64 = 64 << 10;

/// The name of the setting that names recordings.
const RECORDING: &str = "recording";

/// What is read of a pointer file.
#[derive(Deserialize)]
struct PointerFields {
    url: String,
}

/// Returns the URL that a pointer file names. `None` if `named` is no pointer file, and an empty URL
/// if it cannot be read.
pub fn pointed_url(folder: &Path, named: impl AsRef<Path>) -> Option<String> {
    let named = named.as_ref();
    let location = RecordingLocation::from(named);
    if !location.is_remote() || location.is_url() {
        return None;
    }
    let text = loomrec_os::read_input(&folder.join(named), LARGEST).ok();
    let fields = text.and_then(|text| serde_json::from_slice::<PointerFields>(&text).ok());
    Some(fields.map(|fields| fields.url).unwrap_or_default())
}

/// Returns the URLs of all pointer files that these settings name, in their order.
pub(super) fn pointed_urls(folder: &Path, entries: &[Setting]) -> Vec<String> {
    let recordings = entries.iter().filter(|entry| entry.name == RECORDING);
    let values = recordings.flat_map(|entry| &entry.values);
    values.filter_map(|value| pointed_url(folder, value)).collect()
}
