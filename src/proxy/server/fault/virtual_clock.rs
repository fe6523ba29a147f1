//! Time that a run counts and does not wait for.
//!
//! In virtual time, a delay of a fault sets the clock of the faults forward. A client of a tool that
//! hangs waits by its own clock, though, so its call gets the error at once that the client would raise
//! at its time limit.

use std::sync::atomic::{AtomicU64, Ordering};

use loomrec_fault::Fault;

/// The clock of a run in virtual time.
#[derive(Debug)]
pub(super) struct VirtualClock {
    /// The time limit of the clients of tools, in milliseconds.
    tool_limit: u64,
    /// By how many milliseconds it was set forward.
    skipped: AtomicU64,
}

impl VirtualClock {
    /// Creates the clock of a run whose clients wait this long for a tool.
    pub(super) fn new(tool_limit: u64) -> Self {
        Self { tool_limit, skipped: AtomicU64::default() }
    }

    /// Sets the clock forward.
    pub(super) fn skip(&self, ms: u64) {
        self.skipped.fetch_add(ms, Ordering::Relaxed);
    }

    /// Returns by how many milliseconds it was set forward.
    pub(super) fn skipped_ms(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    /// Returns after how many milliseconds the client of a tool gives up a call with this fault; `None`
    /// if it does not.
    pub(super) fn tool_limit(&self, fault: &Fault) -> Option<u64> {
        let silence = fault.silence_ms()?;
        (silence >= self.tool_limit).then_some(self.tool_limit)
    }
}
