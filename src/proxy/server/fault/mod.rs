//! Faults on the wire: the clock, the socket and the bookkeeping for what [`loomrec_fault`]
//! decides.
//!
//! The `FaultLayer` in `call` wraps the engine, and follows one call: `declared` reads the faults
//! that are declared for it, `recovery_tracker` notes its arrival, `decision` finds its take and
//! decides its fault. A `passed_call` gets the engine's answer as it is. For a `faulted_call`,
//! `substitute` replaces the answer, or `change` and `apply` change or delay it. A `settlement` says
//! what is done once the answer is over. A fault does not use up the take of its call, unless it only
//! delays.

mod accept;
mod active_fault;
mod apply;
mod body;
mod call;
mod change;
mod decision;
mod declared;
mod fault_outcome;
mod faulted_call;
mod faulted_conversation;
mod good_answer;
mod no_response;
mod open_faults;
mod passed_call;
mod recovery_state;
mod recovery_tracker;
mod settlement;
mod substitute;
mod tracked_call;
mod virtual_clock;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch as signal;

pub(super) use accept::apply_to_connection;
pub use body::FaultBody;
pub(super) use call::FaultLayer;
use fault_outcome::OutcomeOrder;
pub use no_response::AbandonedCall;
pub(super) use no_response::withhold_answer;
use recovery_state::RecoveryTracker;
pub(super) use recovery_tracker::{note_client_left, note_over, note_report};
pub(super) use settlement::{FaultBodyEnd, FaultSettlement};
use virtual_clock::VirtualClock;

use loomrec_fault::{FaultDecider, FaultPlan, RunTimeChaos};
use loomrec_identity::IdentityRules;

/// How long the end of a run waits for the ends of connections on which a fault is silent. Whether a
/// client has left, or only closed the side that sends, is looked up a few times.
const LEAVE_GRACE: Duration = Duration::from_millis(500);

/// The state that a run needs to apply faults.
#[derive(Debug)]
pub struct FaultContext {
    decider: FaultDecider,
    run_time: RunTimeChaos,
    /// The identity rules that make up the keys of calls.
    rules: IdentityRules,
    /// Whether no faults are declared, except those that a call may declare itself.
    idle: bool,
    /// Whether any declared fault depends on the answer.
    depend_on_answers: bool,
    /// The order in which calls are decided then.
    order: OutcomeOrder,
    began: Instant,
    /// The clock of a run in virtual time.
    virtual_clock: Option<VirtualClock>,
    connections: AtomicU64,
    watch: RecoveryTracker,
    warnings: Mutex<BTreeMap<String, u64>>,
    stop: signal::Sender<bool>,
}

/// The faults that entries of recordings and rules of scripts declare for their answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerFaults {
    /// Whether there are any, or rates of chaos.
    pub are_declared: bool,
    /// Whether it depends on the answer whether any of them can happen.
    pub depend_on_answers: bool,
}

impl FaultContext {
    /// Creates the faults that `decider` decides, for calls that are identified by `rules`, with
    /// those that a recording or a script declares.
    pub fn new(decider: FaultDecider, rules: IdentityRules, entries: AnswerFaults) -> Self {
        let idle = decider.is_idle() && !entries.are_declared;
        let mut planned = decider.plan().rules.iter();
        let depend_on_answers =
            entries.depend_on_answers || planned.any(|rule| rule.fault.depends_on_answer());
        Self {
            depend_on_answers,
            order: OutcomeOrder::default(),
            decider,
            run_time: RunTimeChaos::default(),
            rules,
            idle,
            began: Instant::now(),
            virtual_clock: None,
            connections: AtomicU64::new(0),
            watch: RecoveryTracker::default(),
            warnings: Mutex::default(),
            stop: signal::channel(false).0,
        }
    }

    /// No faults, except those that calls declare themselves.
    pub fn none() -> Self {
        let decider = FaultDecider::new(FaultPlan::default(), 0);
        Self::new(decider, IdentityRules::default(), AnswerFaults::default())
    }

    /// Returns what decides the faults.
    pub fn decider(&self) -> &FaultDecider {
        &self.decider
    }

    /// Returns the rates of chaos that are set while the run goes on.
    pub fn run_time(&self) -> &RunTimeChaos {
        &self.run_time
    }

    /// Returns the same context, which also keeps the journal's lines about faults.
    pub fn with_journal_lines(mut self) -> Self {
        self.watch.lines = Some(Mutex::default());
        self
    }

    /// Returns the same context in virtual time: delays of faults are not waited for, and clients of
    /// tools wait at most this long.
    pub fn in_virtual_time(self, tool_limit: Duration) -> Self {
        let limit = u64::try_from(tool_limit.as_millis()).unwrap_or(u64::MAX);
        Self { virtual_clock: Some(VirtualClock::new(limit)), ..self }
    }

    /// Returns how many milliseconds were counted and not waited for.
    pub fn skipped_ms(&self) -> u64 {
        self.virtual_clock.as_ref().map_or(0, VirtualClock::skipped_ms)
    }

    /// Returns the journal's lines about faults. Empty if they are not kept.
    pub fn journal_lines(&self) -> Vec<Value> {
        self.watch.journal_lines()
    }

    /// Returns warnings about declared faults, each with the number of calls.
    pub fn warnings(&self) -> BTreeMap<String, u64> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the faults that would hang until their client leaves.
    pub(super) fn end_hanging_faults(&self) {
        self.stop.send_replace(true);
    }

    /// Whether the run is about to end.
    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Returns once the run is about to end.
    async fn wait_until_stopped(&self) {
        let mut stop = self.stop.subscribe();
        // A dropped sender also means that the run stops.
        drop(stop.wait_for(|stop| *stop).await);
    }

    /// Returns once the run is about to end, and clients that left before have been seen to leave: a
    /// program may end right after it gave a call up.
    async fn wait_until_left(&self) {
        self.wait_until_stopped().await;
        tokio::time::sleep(LEAVE_GRACE).await;
    }

    /// Lets `ms` pass: waits, or in virtual time sets the clock forward.
    async fn pass_time(&self, ms: u64) {
        match &self.virtual_clock {
            Some(clock) => clock.skip(ms),
            None => self.wait_or_stop(ms).await,
        }
    }

    /// Returns by how much later an answer is that comes after a delay of `ms`.
    fn lateness(&self, ms: u64) -> Duration {
        let is_waited = self.virtual_clock.is_none();
        Duration::from_millis(if is_waited { ms } else { 0 })
    }

    /// Waits for `ms`, or until the run is about to end.
    async fn wait_or_stop(&self, ms: u64) {
        if ms == 0 {
            // Even the shortest sleep would take longer than no time.
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            () = self.wait_until_stopped() => {}
        }
    }

    /// Waits for `ms`, or as long as [`Self::wait_until_left`].
    async fn wait_or_leave(&self, ms: u64) {
        self.wait_or_stop(ms).await;
        if ms > 0 && self.is_stopping() {
            tokio::time::sleep(LEAVE_GRACE).await;
        }
    }

    /// Returns the number of a connection that was just accepted, from 1.
    pub(super) fn next_connection_number(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn add_warning(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        *warnings.entry(text).or_default() += 1;
    }

    /// Returns the milliseconds since the run began.
    pub(super) fn now_ms(&self) -> f64 {
        let waited = (self.began.elapsed().as_secs_f64() * 10_000.0).round() / 10.0;
        waited + self.skipped_ms() as f64
    }
}
