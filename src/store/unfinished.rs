//! Recordings that are not finished: they are recorded beside another one, and then put in its place
//! or discarded.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::disk::Disk;
use super::error::StoreError;
use super::location::RecordingLocation;
use super::paths::RecordingPaths;
use super::reader::Recording;
use super::rewrite::commit_change;
use super::{linked, regular_file, sidecars};

/// Copies a recording, with what is in its log, to where nothing is. Returns whether there was one.
///
/// # Errors
/// The recording cannot be read, or the copy cannot be written.
pub fn copy_to(from: &RecordingLocation, to: &RecordingLocation) -> Result<bool, StoreError> {
    match Recording::open_merged(from) {
        Ok(_) => {}
        Err(StoreError::Missing { .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    let (source, copy) = (paths_of(from)?, paths_of(to)?);
    let failed = |source| StoreError::write_failed(copy.target.clone(), source);
    let mut reading = fs::File::open(&source.target)
        .map_err(|error| StoreError::read_failed(source.target.clone(), error))?;
    let mut writing = regular_file::open_output(&copy.target, 0o600).map_err(failed)?;
    writing.set_len(0).map_err(failed)?;
    io::copy(&mut reading, &mut writing).map_err(failed)?;
    Ok(true)
}

/// Puts a finished recording in the place of another one, which may not exist. Both are in one
/// file system.
///
/// # Errors
/// [`StoreError::Busy`] while one of them is recorded into, or the storage fails. Both are then
/// unchanged.
pub fn put_in_place(
    finished: &RecordingLocation,
    place: &RecordingLocation,
) -> Result<(), StoreError> {
    linked::require_recording_behind_link(place.as_path())?;
    let (from, to) = (paths_of(finished)?, paths_of(place)?);
    if sidecars::has_leftover(&from)? {
        return Err(StoreError::Busy { path: from.target });
    }
    let disk = Disk::real();
    let failed = |source| StoreError::write_failed(to.target.clone(), source);
    if let Ok(there) = fs::metadata(&to.target) {
        fs::set_permissions(&from.target, there.permissions()).map_err(failed)?;
    }
    let before = to.file_version()?;
    commit_change(&to, &disk, before, false, || {
        disk.rename(&from.target, &to.target).map_err(failed)?;
        disk.sync_folder(to.recording_folder()).map_err(failed)
    })
}

/// Removes a recording that is not finished, if there is one.
///
/// # Errors
/// [`StoreError::Busy`] while a process records into it, or it cannot be read or removed.
pub fn discard_unfinished(unfinished: &RecordingLocation) -> Result<(), StoreError> {
    match Recording::open_merged(unfinished) {
        Ok(recording) => recording.remove(),
        Err(StoreError::Missing { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn paths_of(location: &RecordingLocation) -> Result<RecordingPaths, StoreError> {
    let path: PathBuf = location.as_path().to_owned();
    RecordingPaths::from_path(&path).map_err(|source| StoreError::read_failed(path, source))
}
