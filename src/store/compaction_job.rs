//! One compaction as a job that a recorder gives to a thread.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use foldhash::HashSet;

use super::compaction::{self, CompactionResult, ReplacedFile};
use super::disk::Disk;
use super::error::StoreError;
use super::file_version::FileVersion;
use super::folder;
use super::log::{NameFingerprint, fingerprint};
use super::paths::{RecordingForm, RecordingPaths};
use super::reader::Recording;
use super::rotation::KnownLog;
use loomrec_identity::IdentityRules;

/// The work of one compaction. Sent to a thread of its own, [`CompactionJob::run`] there, and
/// its outcome given back to the recorder.
#[derive(Debug)]
pub struct CompactionJob {
    pub(super) path: PathBuf,
    pub(super) paths: RecordingPaths,
    pub(super) disk: Disk,
    pub(super) rules: IdentityRules,
    /// Whether a compaction of someone else's is waited for.
    pub(super) wait: bool,
    /// Up to where its log is known to be whole.
    pub(super) known: Option<KnownLog>,
    /// The names that must be in the recording, where there is doubt.
    pub(super) check: Option<HashSet<NameFingerprint>>,
    /// The files that were in a folder when it was last looked at.
    pub(super) files: Vec<OsString>,
}

/// What became of a [`CompactionJob`].
#[derive(Debug)]
pub struct CompactionDone {
    pub(super) result: Result<CompactionResult, StoreError>,
    /// The recording's file as the compaction found it, and as it left it.
    pub(super) target: Option<ReplacedFile>,
    /// The recording's folder as the compaction left it.
    pub(super) folder: Option<FolderVersion>,
    /// Names that should be there and are not.
    pub(super) gone: Vec<NameFingerprint>,
}

/// A recording's folder at a time.
#[derive(Debug)]
pub(super) struct FolderVersion {
    /// Which folder it is; `None` where there is none.
    pub(super) stamp: Option<FileVersion>,
    pub(super) files: Vec<OsString>,
    /// The names that it holds, where a file has gone that was there before.
    pub(super) names: Option<HashSet<NameFingerprint>>,
}

impl CompactionJob {
    /// Does the work. Blocks for as long as it takes.
    pub fn run(self) -> CompactionDone {
        let result = compaction::run(&self.paths, &self.disk, &self.rules, self.wait, self.known);
        let folded = result.as_ref().ok().and_then(|folded| folded.target);
        let target = folded.or_else(|| self.looked_at());
        let folder = result.is_ok().then(|| self.folder()).flatten();
        let gone = match (&result, self.check) {
            (Ok(_), Some(check)) => gone(&self.path, check),
            _ => Vec::new(),
        };
        CompactionDone { result, target, folder, gone }
    }

    /// The recording's file where there was nothing to compact.
    fn looked_at(&self) -> Option<ReplacedFile> {
        if self.paths.form == RecordingForm::Folder {
            return None;
        }
        let read = FileVersion::at(&self.paths.target).ok()?;
        Some(ReplacedFile { read, written: read })
    }

    /// The recording's folder, where it is one and can be read.
    fn folder(&self) -> Option<FolderVersion> {
        if self.paths.form == RecordingForm::File {
            return None;
        }
        let stamp = FileVersion::at(&self.paths.target).ok()?;
        let files = folder::names(&self.paths.target).ok()?;
        let is_gone = |file: &OsString| files.binary_search(file).is_err();
        let names = self.files.iter().any(is_gone).then(|| names(&self.path)).flatten();
        Some(FolderVersion { stamp, files, names })
    }
}

/// Which of these names a recording does not hold. One that cannot be read is an
/// error elsewhere.
fn gone(path: &Path, mut check: HashSet<NameFingerprint>) -> Vec<NameFingerprint> {
    let Some(now) = names(path) else { return Vec::new() };
    check.retain(|name| !now.contains(name));
    check.into_iter().collect()
}

/// The names that a recording holds; none where there is none, `None` where it cannot be
/// read.
pub(super) fn names(path: &Path) -> Option<HashSet<NameFingerprint>> {
    match Recording::open_to_inspect(path) {
        Ok(recording) => Some(recording.names().map(|name| fingerprint(&name)).collect()),
        Err(StoreError::Missing { .. }) => Some(HashSet::default()),
        Err(_) => None,
    }
}

/// Half of a fingerprint: enough to tell the names of one recording apart.
pub(super) fn short(name: NameFingerprint) -> u64 {
    (name >> 64) as u64
}
