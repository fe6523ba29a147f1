//! The state of recovery that all calls of a run share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::open_faults::OpenFaultSet;
use super::tracked_call::TrackedCall;
use loomrec_fault::CallFault;

/// The faults of a run, and what became of them.
#[derive(Debug, Default)]
pub(super) struct RecoveryTracker {
    next: AtomicU64,
    /// The journal's lines about faults, if they are kept for the end of the run.
    pub(super) lines: Option<Mutex<Vec<Value>>>,
    open: Mutex<OpenFaultSet>,
    /// The number of open faults.
    count: AtomicUsize,
}

impl RecoveryTracker {
    /// Returns the number of a new fault, from 1.
    pub(super) fn next_fault_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the lines that were kept.
    pub(super) fn journal_lines(&self) -> Vec<Value> {
        let lines = self.lines.as_ref();
        lines.map_or_else(Vec::new, |lines| {
            lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// Keeps a line of the journal, if lines are kept.
    pub(super) fn keep_line(&self, line: impl FnOnce() -> Value) {
        if let Some(lines) = &self.lines {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line());
        }
    }

    /// Whether any fault is open.
    pub(super) fn is_open(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    fn lock_open(&self) -> MutexGuard<'_, OpenFaultSet> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a fault that has happened to a call on this connection.
    pub(super) fn add(&self, fault: &CallFault, connection: u64, call: &TrackedCall, at: i64) {
        let mut open = self.lock_open();
        open.add(fault, connection, call, at);
        self.count.store(open.len(), Ordering::Release);
    }

    /// Changes the open faults, unless there are none.
    pub(super) fn change_open<T: Default>(&self, change: impl FnOnce(&mut OpenFaultSet) -> T) -> T {
        if !self.is_open() {
            return T::default();
        }
        let mut open = self.lock_open();
        let result = change(&mut open);
        self.count.store(open.len(), Ordering::Release);
        result
    }
}
