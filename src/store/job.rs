//! A fold as a recorder has it done, on whatever thread.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::error::StoreError;
use super::fold::{self, Folded};
use super::log::{Fingerprint, fingerprint};
use super::paths::Paths;
use super::reader::Recording;
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
    /// The names that must be in the recording, where there is doubt.
    pub(super) check: Option<HashSet<Fingerprint>>,
}

/// What became of a [`FoldJob`].
#[derive(Debug)]
pub struct FoldDone {
    pub(super) result: Result<Folded, StoreError>,
    /// The recording when it was done.
    pub(super) stamp: Option<Stamp>,
    /// Names that should be there and are not.
    pub(super) gone: Vec<Fingerprint>,
}

impl FoldJob {
    /// Does the work. Blocks for as long as it takes.
    pub fn run(self) -> FoldDone {
        let result = fold::run(&self.paths, &self.disk, &self.rules, self.wait);
        let stamp = Stamp::at(&self.paths.target).ok().flatten();
        let gone = match (&result, self.check) {
            (Ok(_), Some(check)) => gone(&self.path, check),
            _ => Vec::new(),
        };
        FoldDone { result, stamp, gone }
    }
}

/// Which of these names a recording does not hold. One that cannot be read is an
/// error elsewhere.
fn gone(path: &Path, mut check: HashSet<Fingerprint>) -> Vec<Fingerprint> {
    match Recording::look(path) {
        Ok(recording) => {
            for name in recording.names() {
                check.remove(&fingerprint(name));
            }
        }
        Err(StoreError::Missing { .. }) => {}
        Err(_) => return Vec::new(),
    }
    check.into_iter().collect()
}
