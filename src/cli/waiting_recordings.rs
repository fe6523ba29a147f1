//! Recordings beside which something waits: requests for their answers, or answers for a review.

use std::collections::BTreeSet;
use std::path::Path;

use super::exit::{CommandFailure, RECORDING};
use super::output::Output;
use loomrec_store::{Recording, RecordingLocation, STATE_FOLDER};

/// The names of files that wait end so: new answers, and requests.
pub const WAITING: [&str; 2] = [".new", ".pending"];
/// Folders in which no recording of a project is.
const SKIPPED: [&str; 2] = ["node_modules", "__pycache__"];

/// Whether a recording exists at this path, or a log that recorders have left of one.
pub fn is_there(path: &RecordingLocation) -> bool {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    exists(path.as_path()) || path.log_files().iter().any(|log| exists(log))
}

/// Returns the recordings in a folder beside which files with these endings wait. Folders in it are
/// not looked into.
pub fn find_in(place: &Path, endings: &[&str], output: &Output) -> BTreeSet<RecordingLocation> {
    let hidden = std::fs::read_dir(place.join(STATE_FOLDER)).into_iter().flatten();
    let Ok(entries) = std::fs::read_dir(place) else { return BTreeSet::new() };
    let mut files = BTreeSet::new();
    for entry in entries.chain(hidden).flatten() {
        let waiting = RecordingLocation::from(entry.path());
        let of = endings.iter().find_map(|ending| waiting.recording_of(ending));
        let Some(file) = of else { continue };
        match Recording::open(entry.path()) {
            Ok(waiting) if waiting.meta().waits_for().is_none() => {}
            Ok(_) if !is_there(&file) => output.warning(&format!(
                "{} holds pending items for a missing recording: {} does not exist",
                entry.path().display(),
                file.display()
            )),
            Ok(_) => drop(files.insert(file)),
            // Files of other programs may have such names. Beside a recording of loomrec, the
            // file is taken for loomrec's, and reported as damaged.
            Err(_) if is_ours(&file) => drop(files.insert(file)),
            Err(_) => {}
        }
    }
    files
}

/// Returns the recordings in a folder and the folders in it beside which files with these endings
/// wait. Links and hidden folders are not followed.
///
/// # Errors
/// The folder cannot be read.
pub fn find_below(
    folder: &Path,
    endings: &[&str],
    output: &Output,
) -> Result<BTreeSet<RecordingLocation>, CommandFailure> {
    let (mut files, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(place) = folders.pop() {
        let entries = std::fs::read_dir(&place).map_err(|error| {
            CommandFailure::new(RECORDING, format!("failed to read {}: {error}", place.display()))
        })?;
        files.extend(find_in(&place, endings, output));
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_hidden = name.starts_with('.') || SKIPPED.contains(&&*name);
            // The type of a link is that of the link itself.
            if !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// Whether a file is a recording of loomrec.
fn is_ours(path: &RecordingLocation) -> bool {
    Recording::open(path).is_ok_and(|recording| recording.meta().is_loomrec())
}
