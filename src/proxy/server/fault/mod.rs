//! Faults on the wire: the clock, the socket and the books behind what
//! [`loomrec_fault`] decides.
//!
//! `answer` stands before the engines: it finds what the call is owed, has its fault
//! decided, and lets through, changes or replaces the answer. A fault does not use up
//! the take behind it, unless it only delays.

mod accept;
mod active_fault;
mod apply;
mod body;
mod buffer;
mod call;
mod declared;
mod no_response;
mod open_faults;
mod recovery_tracker;
mod settlement;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch as signal;

pub(super) use accept::apply_to_connection;
pub use body::FaultBody;
pub(super) use call::answer;
pub use no_response::AbandonedCall;
use open_faults::RecoveryTracker;
pub(super) use recovery_tracker::left;
pub(super) use settlement::{FaultBodyEnd, FaultSettlement};

use loomrec_fault::{FaultDecider, FaultPlan};
use loomrec_identity::IdentityRules;

/// What a run needs to have faults happen.
#[derive(Debug)]
pub struct FaultContext {
    decider: FaultDecider,
    /// The rules that calls are told apart by.
    rules: IdentityRules,
    /// Whether nothing is declared but what a call itself may declare.
    idle: bool,
    began: Instant,
    connections: AtomicU64,
    watch: RecoveryTracker,
    warnings: Mutex<BTreeMap<String, u64>>,
    stop: signal::Sender<bool>,
}

impl FaultContext {
    /// Faults as `decider` has them, of calls that `rules` tell apart. `entries` says
    /// whether a recording declares any.
    pub fn new(decider: FaultDecider, rules: IdentityRules, entries: bool) -> Self {
        let idle = decider.is_idle() && !entries;
        Self {
            decider,
            rules,
            idle,
            began: Instant::now(),
            connections: AtomicU64::new(0),
            watch: RecoveryTracker::default(),
            warnings: Mutex::default(),
            stop: signal::channel(false).0,
        }
    }

    /// None, but what calls themselves declare.
    pub fn none() -> Self {
        Self::new(FaultDecider::new(FaultPlan::default(), 0), IdentityRules::default(), false)
    }

    /// Who decides.
    pub fn decider(&self) -> &FaultDecider {
        &self.decider
    }

    /// The same, with what the journal says of faults kept.
    pub fn observed(mut self) -> Self {
        self.watch.lines = Some(Mutex::default());
        self
    }

    /// What the journal says of faults, where that is kept.
    pub fn lines(&self) -> Vec<Value> {
        self.watch.lines()
    }

    /// What was declared and did not happen, in words, and to how many calls.
    pub fn warnings(&self) -> BTreeMap<String, u64> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends what would hang until its client leaves.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns once the run is to end.
    async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        // A sender that is gone has stopped as well.
        drop(stop.wait_for(|stop| *stop).await);
    }

    /// Waits, unless the run is to end.
    async fn pause(&self, ms: u64) {
        if ms == 0 {
            // The clock's shortest wait is longer.
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            () = self.stopped() => {}
        }
    }

    /// The number of a connection that was just accepted, from 1.
    pub(super) fn accepted(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        *warnings.entry(text).or_default() += 1;
    }

    /// Milliseconds since the run began.
    fn now_ms(&self) -> f64 {
        (self.began.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
    }
}
