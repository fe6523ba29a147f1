//! One compaction, as a job that a recorder hands to a thread.

use std::path::{Path, PathBuf};

use foldhash::HashSet;

use super::compaction::{self, CompactionResult, FileReplacement};
use super::disk::Disk;
use super::error::StoreError;
use super::log::{NameFingerprint, name_fingerprint};
use super::paths::RecordingPaths;
use super::reader::Recording;
use super::rotation::KnownLog;
use loomrec_identity::IdentityRules;

/// The work of one compaction. A separate thread runs it with [`CompactionJob::run`], and its
/// outcome goes back to the recorder.
#[derive(Debug)]
pub(super) struct CompactionJob {
    pub(super) path: PathBuf,
    pub(super) paths: RecordingPaths,
    pub(super) disk: Disk,
    pub(super) rules: IdentityRules,
    /// Whether to wait for another process's compaction.
    pub(super) wait: bool,
    /// How far its log is known to be whole.
    pub(super) known: Option<KnownLog>,
    /// The names that must be in the recording, if there is doubt.
    pub(super) check: Option<HashSet<NameFingerprint>>,
}

/// The outcome of a [`CompactionJob`].
#[derive(Debug)]
pub(super) struct CompactionDone {
    pub(super) result: Result<CompactionResult, StoreError>,
    /// The file that it found and the one that it left; `None` if it failed or that cannot be found
    /// out.
    pub(super) replaced: Option<FileReplacement>,
    /// The names that should be in the recording and are not.
    pub(super) gone: Vec<NameFingerprint>,
}

impl CompactionJob {
    /// Does the work. Blocks until it is done.
    pub(super) fn run(self) -> CompactionDone {
        let result = compaction::compact_with_rules(
            &self.paths,
            &self.disk,
            &self.rules,
            self.wait,
            self.known,
        );
        let present = || {
            let version = self.paths.file_version().ok()?;
            Some(FileReplacement { read: version, written: version })
        };
        // If there was nothing to compact, it is what is there now.
        let replaced = |done: &CompactionResult| done.replaced.or_else(present);
        let replaced = result.as_ref().ok().and_then(replaced);
        let gone = match (&result, self.check) {
            (Ok(_), Some(check)) => missing_names(&self.path, check),
            _ => Vec::new(),
        };
        CompactionDone { result, replaced, gone }
    }
}

/// Returns which of these names a recording does not hold. A recording that cannot be read is
/// reported as an error elsewhere.
fn missing_names(path: &Path, mut check: HashSet<NameFingerprint>) -> Vec<NameFingerprint> {
    let Some(now) = recorded_names(path) else { return Vec::new() };
    check.retain(|name| !now.contains(name));
    check.into_iter().collect()
}

/// Returns the names that a recording holds; none if it does not exist, `None` if it cannot be
/// read.
pub(super) fn recorded_names(path: &Path) -> Option<HashSet<NameFingerprint>> {
    match Recording::open_to_inspect(path) {
        Ok(recording) => Some(recording.names().map(|name| name_fingerprint(&name)).collect()),
        Err(StoreError::Missing { .. }) => Some(HashSet::default()),
        Err(_) => None,
    }
}

/// Returns half of a fingerprint, which is enough to tell the names of one recording apart.
pub(super) fn half_fingerprint(name: NameFingerprint) -> u64 {
    (name >> 64) as u64
}
