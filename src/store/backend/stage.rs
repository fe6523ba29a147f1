//! The writing half of the back-ends: the new text of a recording is written beside its
//! place, and replaces a version that is still there.

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
    /// The old one holds everything already.
    Nothing,
    File(StagedFile),
    Folder(StagedFolder),
}

/// A recording whose version was replaced, and is locked.
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
    /// Storage that fails. The recording is then as it was, or a folder partly changed,
    /// with no entry lost.
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
    /// Writes what `source` makes of the recording beside its place.
    ///
    /// # Errors
    /// Something that cannot be read or written, or would be too large. Nothing is left.
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

    /// Removes what an earlier compaction, which was killed, staged. Only by the one that
    /// compacts.
    ///
    /// # Errors
    /// Storage that fails.
    pub(crate) fn sweep_stage(&self, tag: &str) -> std::io::Result<()> {
        match self {
            // It is written over.
            Self::File(_) => Ok(()),
            Self::Folder(at) => folder::sweep(at, &format!(".{tag}{}", temporary_file::SUFFIX)),
        }
    }

    /// Replaces the version `if_version` by what a compaction has staged, and returns with
    /// the recording locked; `None` where another version is there by now.
    ///
    /// A file is looked at and replaced under the lock. The files of a folder are replaced
    /// before, since the lock is held for moments only: as long as there is a log that is
    /// being compacted, only the one that compacts it changes the folder.
    ///
    /// # Errors
    /// A lock that cannot be had, storage that fails.
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
                    // Before it has its place: a file that is there then may be another's
                    // already.
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
                    // Someone has removed the folder; the one that is there now is ours.
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
