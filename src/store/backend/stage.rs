//! The writing half of the back-ends: writes the new text of a recording beside its place, and
//! replaces the old version if that is still there.

use super::StoreBackend;
use super::base::{BaseSnapshot, BaseVersion};
use super::file_stage::StagedFile;
use super::folder;
use super::folder::stage::StagedFolder;
use super::stage_terms::StageTerms;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::file_version::FileVersion;
use crate::lock::{self, LockGuard, RecordingLock};
use crate::paths::RecordingPaths;
use crate::run::{self, RunTarget};
use crate::snapshot::RecordingSnapshot;
use crate::temporary_file;

/// The new text of a recording, beside its place.
#[derive(Debug)]
pub(crate) enum StagedBase {
    /// The old text holds everything already.
    Nothing,
    File(StagedFile),
    Folder(StagedFolder),
}

/// A recording whose version was replaced, and which is locked.
#[derive(Debug)]
pub(crate) struct ReplacedBase {
    pub(crate) guard: LockGuard,
    /// The file that is there now; `None` for a folder.
    pub(crate) written: Option<FileVersion>,
}

impl StagedBase {
    /// Puts the text in its place. Only under the recording's lock.
    ///
    /// # Errors
    /// The storage fails. The recording is then unchanged, or a folder is partly changed, with no
    /// entry lost.
    pub(crate) fn commit(&self, disk: &Disk) -> Result<(), StoreError> {
        match self {
            Self::Nothing => Ok(()),
            Self::File(staged) => staged.commit(disk),
            Self::Folder(staged) => staged.commit(disk),
        }
    }

    /// Removes what was written and is not in its place.
    pub(crate) fn discard(&self, disk: &Disk) {
        match self {
            Self::Nothing => {}
            Self::File(staged) => staged.discard(disk),
            Self::Folder(staged) => staged.discard(disk),
        }
    }
}

impl StoreBackend {
    /// Writes the new text of `source` beside the recording's place.
    ///
    /// # Errors
    /// Something cannot be read or written, or would be too large. Nothing is left behind.
    pub(crate) fn stage(
        &self,
        source: &RecordingSnapshot,
        terms: StageTerms<'_>,
    ) -> Result<StagedBase, StoreError> {
        match (self, source.base()) {
            (Self::File(place) | Self::Folder(place), BaseSnapshot::Folder(base)) => {
                StagedFolder::write(source, base, place, terms).map(StagedBase::Folder)
            }
            (Self::File(place) | Self::Folder(place), _) => {
                StagedFile::write(source, place, terms).map(StagedBase::File)
            }
        }
    }

    /// Removes what an earlier compaction staged before it was killed. Only for the process that
    /// compacts.
    ///
    /// # Errors
    /// The storage fails.
    pub(crate) fn sweep_stage(&self, tag: &str) -> std::io::Result<()> {
        match self {
            // It is overwritten.
            Self::File(_) => Ok(()),
            Self::Folder(at) => folder::sweep(at, &format!(".{tag}{}", temporary_file::SUFFIX)),
        }
    }

    /// Replaces the version `if_version` by what a compaction has staged, and returns with the
    /// recording locked. Returns `None` if another version is there by now.
    ///
    /// A file is checked and replaced under the lock. The files of a folder are replaced before
    /// that, because the lock is held only briefly. As long as a log is being compacted, only the
    /// process that compacts it changes the folder.
    ///
    /// # Errors
    /// The lock cannot be taken, or the storage fails.
    pub(crate) fn replace_compacted(
        &self,
        staged: &StagedBase,
        if_version: &BaseVersion,
        paths: &RecordingPaths,
        lock: &mut RecordingLock,
        disk: &Disk,
    ) -> Result<Option<ReplacedBase>, StoreError> {
        let note = |target: RunTarget| {
            run::note_target(&paths.run, disk, target)
                .map_err(|source| StoreError::write(&paths.run, source))
        };
        match self {
            Self::File(_) => {
                let guard = lock.acquire(lock::WAIT)?;
                if self.version()? != *if_version {
                    return Ok(None);
                }
                let mut written = if_version.file();
                if let StagedBase::File(staged) = staged {
                    // Noted before the file is in its place: a file that is there later may be
                    // another process's already.
                    written = staged.version()?;
                    note(written.map(FileVersion::id))?;
                    staged.commit(disk)?;
                }
                Ok(Some(ReplacedBase { guard, written }))
            }
            Self::Folder(folder) => {
                if self.version()? != *if_version {
                    return Ok(None);
                }
                staged.commit(disk)?;
                let guard = lock.acquire(lock::WAIT)?;
                if matches!(staged, StagedBase::Folder(staged) if staged.made_folder()) {
                    // Another process removed the folder. The one that is there now is this run's.
                    let failed = |source| StoreError::write(folder, source);
                    note(self.run_target().map_err(failed)?)?;
                }
                Ok(Some(ReplacedBase { guard, written: None }))
            }
        }
    }
}

#[cfg(test)]
#[path = "stage_tests.rs"]
mod tests;
