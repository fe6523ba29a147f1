//! The faults of a run that have not been recovered from.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use loomrec_fault::CallKey;

/// Faults that have not been recovered from.
#[derive(Debug, Default)]
pub(super) struct RecoveryTracker {
    next: AtomicU64,
    /// The journal's lines about faults, if they are kept for the end of the run.
    pub(super) lines: Option<Mutex<Vec<Value>>>,
    open: Mutex<HashMap<CallKey, Vec<OpenFault>>>,
    /// The number of open faults.
    pub(super) count: AtomicUsize,
}

/// A fault that has not been recovered from.
#[derive(Debug)]
pub(super) struct OpenFault {
    pub(super) id: u64,
    pub(super) connection: u64,
    /// Whether its client noticed it.
    pub(super) noticed: bool,
}

impl RecoveryTracker {
    /// Returns the number of a new fault, from 1.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the lines that were kept.
    pub(super) fn lines(&self) -> Vec<Value> {
        let lines = self.lines.as_ref();
        lines.map_or_else(Vec::new, |lines| {
            lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// Keeps a line of the journal, if lines are kept.
    pub(super) fn keep(&self, line: impl FnOnce() -> Value) {
        if let Some(lines) = &self.lines {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line());
        }
    }

    /// Returns the open faults by call key.
    pub(super) fn open(&self) -> MutexGuard<'_, HashMap<CallKey, Vec<OpenFault>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any fault is open.
    pub(super) fn is_open(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Whether faults of this call, or faults of connections, are open. Any good answer ends the
    /// latter.
    pub(super) fn awaits(&self, key: &CallKey) -> bool {
        let waits = |open: &HashMap<CallKey, Vec<OpenFault>>| {
            open.contains_key(key) || open.contains_key(&CallKey::Connection)
        };
        self.is_open() && waits(&self.open())
    }
}
