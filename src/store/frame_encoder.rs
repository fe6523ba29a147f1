//! Encodes an exchange as a frame of the log, and checks that it holds none of the run's
//! credentials. This is the slow part of appending, so any number of threads do it at once,
//! beside the one that writes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::StoreError;
use super::log::{self, NameFingerprint, fingerprint};
use super::secret_guard::SecretGuard;
use loomrec_recording::log_codec::TakeStanding;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, EntryName, log_codec};

/// An exchange to be kept.
#[derive(Debug)]
pub struct LogItem {
    /// What it is kept under.
    pub name: EntryName,
    /// The exchange.
    pub entry: Entry,
    /// The credentials that its request carried.
    pub secrets: Arc<CallCredentials>,
}

/// Makes exchanges ready for one recorder's log.
#[derive(Clone, Debug)]
pub struct FrameEncoder {
    path: PathBuf,
    watch: Arc<SecretGuard>,
    replace: bool,
    keep_failures: bool,
}

/// An exchange that is ready.
#[derive(Debug)]
pub struct EncodedFrame {
    pub(super) name: NameFingerprint,
    /// Whether the takes of earlier runs are to give way to this run's.
    replace: bool,
    /// Whether its call failed, and so must not take the place of one that succeeded.
    failed: bool,
    /// What it says of itself.
    standing: TakeStanding,
    frame: Vec<u8>,
}

impl FrameEncoder {
    /// For the recording at `path`. With `replace`, the takes that an earlier run
    /// left under a name give way to the first that this run records of it.
    pub(super) fn new(path: PathBuf, watch: Arc<SecretGuard>, replace: bool) -> Self {
        Self { path, watch, replace, keep_failures: false }
    }

    /// Lets calls that failed take the place of earlier takes as any other does.
    #[must_use]
    pub fn keep_failures(self, keep_failures: bool) -> Self {
        Self { keep_failures, ..self }
    }

    /// Makes an exchange ready.
    ///
    /// # Errors
    /// [`StoreError::Secret`] where it holds a credential of this run,
    /// [`StoreError::Write`] where it is too large for a log.
    pub fn pack(&self, item: &LogItem) -> Result<EncodedFrame, StoreError> {
        let LogItem { name, entry, secrets } = item;
        let mut frame = vec![0; log::HEAD];
        let failed = self.replace && !self.keep_failures && entry.is_failure();
        let standing = standing(self.replace, failed, RecordedTakes::default());
        log_codec::pack_to(&mut frame, name, standing, entry);
        if !self.watch.is_clean(&frame[log::HEAD..], secrets) {
            let names = vec![name.to_string()];
            return Err(StoreError::Secret { path: self.path.clone(), names });
        }
        let name = fingerprint(name);
        log::seal(marked(name, standing), &mut frame).map_err(|error| {
            let source = io::Error::new(io::ErrorKind::InvalidData, error);
            StoreError::write(self.path.clone(), source)
        })?;
        Ok(EncodedFrame { name, replace: self.replace, failed, standing, frame })
    }
}

impl AsMut<Self> for EncodedFrame {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl EncodedFrame {
    /// The bytes it takes in the log.
    pub(super) fn len(&self) -> usize {
        self.frame.len()
    }

    /// The frame to be written, given what the run has recorded of its name.
    pub(super) fn frame(&mut self, known: RecordedTakes) -> &[u8] {
        let standing = standing(self.replace, self.failed, known);
        if standing != self.standing {
            self.standing = standing;
            log_codec::set_standing(&mut self.frame[log::HEAD..], standing);
            // It fitted before, and its length is the same.
            let _ = log::seal(self.mark(), &mut self.frame);
        }
        &self.frame
    }

    /// Whether it may still go, since its call failed and none has succeeded so far.
    pub(super) fn may_go(&self) -> bool {
        self.standing.is_failed()
    }

    /// What the run remembers of it, once it was given [`EncodedFrame::frame`].
    pub(super) fn mark(&self) -> NameFingerprint {
        marked(self.name, self.standing)
    }
}

/// What a run has recorded of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedTakes {
    /// A take that earlier ones gave way to.
    pub(super) taken: bool,
    /// A take whose call failed, and none that succeeded before it.
    pub(super) failed: bool,
}

/// What the run remembers of a name of which all calls have failed so far.
pub(super) fn failed_mark(name: NameFingerprint) -> NameFingerprint {
    (name ^ FAILED).max(log::ABOUT + 1)
}

/// Far from every fingerprint, which are of hashes.
const FAILED: NameFingerprint = 0xfa11_ed00_fa11_ed00_fa11_ed00_fa11_ed00;

fn marked(name: NameFingerprint, standing: TakeStanding) -> NameFingerprint {
    if standing.is_failed() { failed_mark(name) } else { name }
}

fn standing(replace: bool, failed: bool, known: RecordedTakes) -> TakeStanding {
    match (replace, failed) {
        (false, _) => TakeStanding::Further,
        (true, _) if known.taken => TakeStanding::Further,
        (true, true) if known.failed => TakeStanding::Failed,
        (true, true) => TakeStanding::FirstFailed,
        (true, false) if known.failed => TakeStanding::Recovered,
        (true, false) => TakeStanding::First,
    }
}
