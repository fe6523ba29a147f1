//! The encoder of exchanges: makes frames of the log, and checks that they hold none of the run's
//! credentials. This is the slow part of appending, so many threads can do it at the same time,
//! beside the one that writes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::StoreError;
use super::log::{self, NameFingerprint, name_fingerprint};
use super::secret_guard::SecretGuard;
use loomrec_recording::log_codec::{RunPosition, TakePrecedence};
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{CallForm, CallScope, Entry, EntryName, log_codec};

/// An exchange to be stored.
#[derive(Debug)]
pub struct LogItem {
    /// The name that it is stored under.
    pub name: EntryName,
    /// The exchange.
    pub entry: Entry,
    /// The credentials that its request carried.
    pub secrets: Arc<CallCredentials>,
    /// Whether its call failed, if that is known already.
    pub is_failure: Option<bool>,
    /// The form of its call, if that is known already.
    pub form: Option<CallForm>,
}

impl LogItem {
    /// Returns an exchange that was not judged yet.
    pub fn new(name: EntryName, entry: Entry, secrets: Arc<CallCredentials>) -> Self {
        Self { name, entry, secrets, is_failure: None, form: None }
    }
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
    /// Stands for the takes that it may replace: see [`log::key_in_scope`].
    key: NameFingerprint,
    /// Whether it takes the place of a take of an earlier run.
    replace: bool,
    /// Whether its call failed, or no client got its answer, so that it must not replace a take whose call succeeded.
    failed: bool,
    /// How the frame relates to other takes of its name.
    precedence: TakePrecedence,
    frame: Vec<u8>,
}

impl FrameEncoder {
    /// Returns an encoder for the recording at `path`. With `replace`, each take takes the place of
    /// one that an earlier run left under the same name and in the same scope.
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
        let LogItem { name, entry, secrets, is_failure, form } = item;
        let mut frame = vec![0; log::HEAD];
        let is_failure = || is_failure.unwrap_or_else(|| entry.is_failure());
        let is_lesser = || entry.is_undelivered() || (!self.keep_failures && is_failure());
        let failed = self.replace && is_lesser();
        let precedence = decide_precedence(self.replace, failed, RecordedTakes::default());
        let scope = match form {
            Some(form) => CallScope::with_form(entry, Some(form.clone())),
            None => CallScope::from_entry(entry),
        };
        log_codec::pack_to(&mut frame, name, precedence, &scope, entry);
        if !self.secret_guard.is_clean(&frame[log::HEAD..], secrets) {
            let names = vec![name.to_string()];
            return Err(StoreError::Secret { path: self.path.clone(), names });
        }
        let (name, key) = (name_fingerprint(name), log::key_in_scope(name, &scope));
        log::seal_frame(marked_key(key, precedence), &mut frame).map_err(|error| {
            let source = io::Error::new(io::ErrorKind::InvalidData, error);
            StoreError::write_failed(self.path.clone(), source)
        })?;
        Ok(EncodedFrame { name, key, replace: self.replace, failed, precedence, frame })
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
        let precedence = decide_precedence(self.replace, self.failed, known);
        if precedence != self.precedence {
            self.precedence = precedence;
            log_codec::set_precedence(&mut self.frame[log::HEAD..], precedence);
            // It fitted before, and its length has not changed.
            let _ = log::seal_frame(self.run_mark(), &mut self.frame);
        }
        &self.frame
    }

    /// Whether it may still be left out, because its call failed and none has succeeded so far.
    pub(super) fn may_be_left_out(&self) -> bool {
        self.precedence.is_failed()
    }

    /// Returns what the run remembers of it. Call [`EncodedFrame::bytes_for`] first.
    pub(super) fn run_mark(&self) -> NameFingerprint {
        marked_key(self.key, self.precedence)
    }

    /// Returns what a run has recorded of its name and scope. `count` counts a mark.
    pub(super) fn recorded_takes(&self, count: impl Fn(NameFingerprint) -> u32) -> RecordedTakes {
        RecordedTakes {
            added: count(other_mark(self.key, ADDED)) > 0,
            failures: count(other_mark(self.key, FAILED)),
            takes: count(self.key),
        }
    }
}

/// What a run has recorded of a name and a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedTakes {
    /// Whether there are takes that replaced nothing.
    added: bool,
    /// The number of calls that failed before the first success.
    failures: u32,
    /// The number of takes from the first success on.
    takes: u32,
}

/// Returns another mark for a name and a scope.
fn other_mark(key: NameFingerprint, kind: NameFingerprint) -> NameFingerprint {
    (key ^ kind).max(log::ABOUT + 1)
}

/// For calls that failed, with no success before them. Keeps these marks apart from the
/// fingerprints, which are hashes.
const FAILED: NameFingerprint = 0xfa11_ed00_fa11_ed00_fa11_ed00_fa11_ed00;

/// For takes that replace nothing.
const ADDED: NameFingerprint = 0xadde_d000_adde_d000_adde_d000_adde_d000;

fn marked_key(key: NameFingerprint, precedence: TakePrecedence) -> NameFingerprint {
    match precedence {
        TakePrecedence::Further => other_mark(key, ADDED),
        failed if failed.is_failed() => other_mark(key, FAILED),
        TakePrecedence::Replacing(_) => key,
    }
}

/// The first take of a name and a scope decides whether those of its run replace others.
fn decide_precedence(replace: bool, failed: bool, known: RecordedTakes) -> TakePrecedence {
    let RecordedTakes { added, failures, takes } = known;
    match added || !replace && failures + takes == 0 {
        true => TakePrecedence::Further,
        false => TakePrecedence::Replacing(RunPosition { failures, takes, failed }),
    }
}
