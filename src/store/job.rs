//! A fold as a recorder has it done, on whatever thread.

use std::path::{Path, PathBuf};

use foldhash::HashSet;

use super::disk::Disk;
use super::error::StoreError;
use super::fold::{self, Folded, Replaced};
use super::log::{Fingerprint, fingerprint};
use super::paths::{Form, Paths};
use super::reader::Recording;
use super::rotate::Known;
use super::stamp::Stamp;
use crate::identity::IdentityRules;

/// The work of one fold. Sent to a thread of its own, [`FoldJob::run`] there, and
/// its outcome given back to the recorder.
#[derive(Debug)]
pub struct FoldJob {
    pub(super) path: PathBuf,
    pub(super) paths: Paths,
    pub(super) disk: Disk,
    pub(super) rules: IdentityRules,
    /// Whether a fold of someone else's is waited for.
    pub(super) wait: bool,
    /// Up to where its log is known to be whole.
    pub(super) known: Option<Known>,
    /// The names that must be in the recording, where there is doubt.
    pub(super) check: Option<HashSet<Fingerprint>>,
}

/// What became of a [`FoldJob`].
#[derive(Debug)]
pub struct FoldDone {
    pub(super) result: Result<Folded, StoreError>,
    /// The recording's file as the fold found it, and as it left it.
    pub(super) target: Option<Replaced>,
    /// Names that should be there and are not.
    pub(super) gone: Vec<Fingerprint>,
}

impl FoldJob {
    /// Does the work. Blocks for as long as it takes.
    pub fn run(self) -> FoldDone {
        let result = fold::run(&self.paths, &self.disk, &self.rules, self.wait, self.known);
        let folded = result.as_ref().ok().and_then(|folded| folded.target);
        let target = folded.or_else(|| self.looked_at());
        let gone = match (&result, self.check) {
            (Ok(_), Some(check)) => gone(&self.path, check),
            _ => Vec::new(),
        };
        FoldDone { result, target, gone }
    }

    /// The recording's file where there was nothing to fold.
    fn looked_at(&self) -> Option<Replaced> {
        if self.paths.form == Form::Folder {
            return None;
        }
        let read = Stamp::at(&self.paths.target).ok()?;
        Some(Replaced { read, written: read })
    }
}

/// Which of these names a recording does not hold. One that cannot be read is an
/// error elsewhere.
fn gone(path: &Path, mut check: HashSet<Fingerprint>) -> Vec<Fingerprint> {
    let Some(now) = names(path) else { return Vec::new() };
    check.retain(|name| !now.contains(name));
    check.into_iter().collect()
}

/// The names that a recording holds; none where there is none, `None` where it cannot be
/// read.
pub(super) fn names(path: &Path) -> Option<HashSet<Fingerprint>> {
    match Recording::look(path) {
        Ok(recording) => Some(recording.names().map(|name| fingerprint(&name)).collect()),
        Err(StoreError::Missing { .. }) => Some(HashSet::default()),
        Err(_) => None,
    }
}

/// Half of a fingerprint: enough to tell the names of one recording apart.
pub(super) fn short(name: Fingerprint) -> u64 {
    (name >> 64) as u64
}
