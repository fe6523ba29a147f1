//! The new text of a recording, written into the hidden folder beside its place.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::compose::compose_recording;
use super::disk::Disk;
use super::error::StoreError;
use super::file::SIZE_LIMIT;
use super::file_version::FileVersion;
use super::snapshot::RecordingSnapshot;
use super::state_folder;
use super::temporary_file;
use loomrec_identity::IdentityRules;
use loomrec_os::{FileKind, FileStatus};

/// A file that only has to be put in its place.
#[derive(Debug)]
pub(super) struct StagedFile {
    temporary: PathBuf,
    place: PathBuf,
}

/// The terms under which a file is staged.
#[derive(Clone, Copy, Debug)]
pub(super) struct StageTerms<'a> {
    pub(super) disk: &'a Disk,
    /// The rules under which everything that is written becomes loomrec's.
    pub(super) rules: Option<&'a IdentityRules>,
    /// Distinguishes the temporary file from those of others.
    pub(super) tag: &'a str,
}

impl StagedFile {
    /// Writes the new text of `source` beside the recording's place. It gets the old file's mode.
    ///
    /// # Errors
    /// Something cannot be read or written, or would be too large. Nothing is left behind.
    pub(super) fn write_beside(
        source: &RecordingSnapshot,
        place: &Path,
        terms: StageTerms<'_>,
    ) -> Result<Self, StoreError> {
        let disk = terms.disk;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let temporary = format!(".{name}.{}{}", terms.tag, temporary_file::SUFFIX);
        let temporary = state_folder::path_for(place).join(temporary);
        let create = || disk.create_temporary(&temporary);
        let file = state_folder::open_within(&temporary, disk, create)
            .map_err(|source| StoreError::write_failed(place.to_owned(), source))?;
        let staged = Self { temporary, place: place.to_owned() };
        match staged.write_text(&file, source, terms) {
            Ok(()) => Ok(staged),
            Err(error) => {
                staged.discard(disk);
                Err(error)
            }
        }
    }

    fn write_text(
        &self,
        file: &File,
        source: &RecordingSnapshot,
        terms: StageTerms<'_>,
    ) -> Result<(), StoreError> {
        let disk = terms.disk;
        let failed = |source| StoreError::write_failed(self.place.clone(), source);
        if let Ok(Some(old)) = FileStatus::at_path(&self.place)
            && old.kind == FileKind::Regular
        {
            disk.set_mode(file, old.mode).map_err(failed)?;
        }
        let mut text = disk.writer(file);
        compose_recording(source, terms.rules, &mut text)
            .map_err(|error| error.into_store_error(&self.place))?;
        // A larger file could never be read again.
        let bytes = file.metadata().map_err(failed)?.len();
        if bytes > SIZE_LIMIT {
            let (path, limit) = (self.place.clone(), SIZE_LIMIT);
            return Err(StoreError::WouldBeTooLarge { path, bytes, limit });
        }
        disk.sync_all(file).map_err(failed)
    }

    /// Returns the version that the recording will have.
    ///
    /// # Errors
    /// The file's status cannot be read.
    pub(super) fn file_version(&self) -> Result<Option<FileVersion>, StoreError> {
        let found = FileVersion::at_path(&self.temporary);
        found.map_err(|source| StoreError::write_failed(self.place.clone(), source))
    }

    /// Puts the file in its place. Only under the recording's lock.
    ///
    /// # Errors
    /// The storage fails. The recording is then unchanged.
    pub(super) fn put_in_place(&self, disk: &Disk) -> Result<(), StoreError> {
        let failed = |source| StoreError::write_failed(self.place.clone(), source);
        disk.rename(&self.temporary, &self.place).map_err(failed)?;
        disk.sync_folder(temporary_file::parent_folder(&self.place)).map_err(failed)
    }

    /// Removes what was written, unless it is in its place.
    pub(super) fn discard(&self, disk: &Disk) {
        // The next recorder sweeps away what is left.
        let _ = disk.remove_if_there(&self.temporary);
    }
}
