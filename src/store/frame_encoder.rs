//! The encoder of exchanges: makes frames of the log, and checks that they hold none of the run's
//! credentials. This is the slow part of appending, so many threads can do it at the same time,
//! beside the one that writes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::StoreError;
use super::log::{self, NameFingerprint, fingerprint};
use super::secret_guard::SecretGuard;
use loomrec_recording::log_codec::TakePrecedence;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, EntryName, log_codec};

/// An exchange to be stored.
#[derive(Debug)]
pub struct LogItem {
    /// The name that it is stored under.
    pub name: EntryName,
    /// The exchange.
    pub entry: Entry,
    /// The credentials that its request carried.
    pub secrets: Arc<CallCredentials>,
}

/// Encodes exchanges for one recorder's log.
#[derive(Clone, Debug)]
pub struct FrameEncoder {
    path: PathBuf,
    secret_guard: Arc<SecretGuard>,
    replace: bool,
    keep_failures: bool,
}

/// An encoded exchange.
#[derive(Debug)]
pub struct EncodedFrame {
    pub(super) name: NameFingerprint,
    /// Whether the takes of this run replace those of earlier runs.
    replace: bool,
    /// Whether its call failed, so that it must not replace a take whose call succeeded.
    failed: bool,
    /// How the frame relates to other takes of its name.
    precedence: TakePrecedence,
    frame: Vec<u8>,
}

impl FrameEncoder {
    /// Returns an encoder for the recording at `path`. With `replace`, the first take that this run
    /// records of a name replaces those of earlier runs.
    pub(super) fn new(path: PathBuf, secret_guard: Arc<SecretGuard>, replace: bool) -> Self {
        Self { path, secret_guard, replace, keep_failures: false }
    }

    /// Sets whether calls that failed replace earlier takes as any other call does.
    #[must_use]
    pub fn keep_failures(self, keep_failures: bool) -> Self {
        Self { keep_failures, ..self }
    }

    /// Encodes an exchange.
    ///
    /// # Errors
    /// [`StoreError::Secret`] if it holds a credential of this run, [`StoreError::Write`] if it is
    /// too large for a log.
    pub fn encode(&self, item: &LogItem) -> Result<EncodedFrame, StoreError> {
        let LogItem { name, entry, secrets } = item;
        let mut frame = vec![0; log::HEAD];
        let failed = self.replace && !self.keep_failures && entry.is_failure();
        let precedence = precedence(self.replace, failed, RecordedTakes::default());
        log_codec::pack_to(&mut frame, name, precedence, entry);
        if !self.secret_guard.is_clean(&frame[log::HEAD..], secrets) {
            let names = vec![name.to_string()];
            return Err(StoreError::Secret { path: self.path.clone(), names });
        }
        let name = fingerprint(name);
        log::seal(marked(name, precedence), &mut frame).map_err(|error| {
            let source = io::Error::new(io::ErrorKind::InvalidData, error);
            StoreError::write(self.path.clone(), source)
        })?;
        Ok(EncodedFrame { name, replace: self.replace, failed, precedence, frame })
    }
}

impl AsMut<Self> for EncodedFrame {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl EncodedFrame {
    /// Returns the number of bytes it takes in the log.
    pub(super) fn len(&self) -> usize {
        self.frame.len()
    }

    /// Returns the frame to write. `known` is what the run has recorded of its name.
    pub(super) fn bytes_for(&mut self, known: RecordedTakes) -> &[u8] {
        let precedence = precedence(self.replace, self.failed, known);
        if precedence != self.precedence {
            self.precedence = precedence;
            log_codec::set_precedence(&mut self.frame[log::HEAD..], precedence);
            // It fitted before, and its length has not changed.
            let _ = log::seal(self.mark(), &mut self.frame);
        }
        &self.frame
    }

    /// Whether it may still be left out, because its call failed and none has succeeded so far.
    pub(super) fn may_be_left_out(&self) -> bool {
        self.precedence.is_failed()
    }

    /// Returns what the run remembers of it. Call [`EncodedFrame::bytes_for`] first.
    pub(super) fn mark(&self) -> NameFingerprint {
        marked(self.name, self.precedence)
    }
}

/// What a run has recorded of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedTakes {
    /// Whether there is a take that replaced earlier ones.
    pub(super) taken: bool,
    /// Whether there is a take whose call failed, with no success before it.
    pub(super) failed: bool,
}

/// Returns what the run remembers of a name whose calls have all failed so far.
pub(super) fn failed_mark(name: NameFingerprint) -> NameFingerprint {
    (name ^ FAILED).max(log::ABOUT + 1)
}

/// Keeps these marks apart from the fingerprints, which are hashes.
const FAILED: NameFingerprint = 0xfa11_ed00_fa11_ed00_fa11_ed00_fa11_ed00;

fn marked(name: NameFingerprint, precedence: TakePrecedence) -> NameFingerprint {
    if precedence.is_failed() { failed_mark(name) } else { name }
}

fn precedence(replace: bool, failed: bool, known: RecordedTakes) -> TakePrecedence {
    match (replace, failed) {
        (false, _) => TakePrecedence::Further,
        (true, _) if known.taken => TakePrecedence::Further,
        (true, true) if known.failed => TakePrecedence::Failed,
        (true, true) => TakePrecedence::FirstFailed,
        (true, false) if known.failed => TakePrecedence::Recovered,
        (true, false) => TakePrecedence::First,
    }
}
