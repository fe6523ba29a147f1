//! Answers that a fault delays, and clients that leave before they come.

use std::sync::Arc;

use serde_json::Value;

use super::super::Proxy;
use super::super::call_tracker::CallTracker;
use super::super::incoming_call::IncomingCall;
use super::recovery_tracker::{self, SessionKey};
use crate::telemetry::call_record::OutcomeDetail;
use crate::telemetry::run_counters::RunCounters;

/// The tracker of a call, and its fault.
type Unheard = (Arc<CallTracker>, Option<Arc<Value>>);

/// An answer that is on its way, late. Dropped before all of it has gone, its client
/// has given up: the call was not answered after all.
pub(super) struct DelayedCall {
    proxy: Arc<Proxy>,
    line: SessionKey,
    id: u64,
    attempt: u64,
    /// Whether the call was taken to be answered well, by no take.
    well: bool,
    /// The call, as long as nobody has noted what it was answered with.
    unheard: Option<Unheard>,
    over: bool,
}

impl DelayedCall {
    /// The answer of `asked`, which is this try of a call of `line`, behind the fault of
    /// this number.
    pub(super) fn new(
        proxy: &Arc<Proxy>,
        line: &SessionKey,
        (id, attempt): (u64, u64),
        asked: &IncomingCall,
    ) -> Self {
        Self {
            proxy: Arc::clone(proxy),
            line: line.clone(),
            id,
            attempt,
            well: false,
            unheard: Some((Arc::clone(&asked.account), asked.fault.clone())),
            over: false,
        }
    }

    /// Its head is there, and the call has been noted.
    pub(super) fn heard(&mut self) {
        self.unheard = None;
    }

    /// It is a good one that is no take's: the call was taken to be answered well.
    pub(super) fn was_well(&mut self) {
        self.well = true;
    }

    /// The client has got all of it.
    pub(super) fn answer_sent(mut self) {
        self.over = true;
        recovery_tracker::settle(&self.proxy, &self.line, self.id);
    }
}

impl Drop for DelayedCall {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        if self.well {
            let session = self.line.0.as_deref();
            self.proxy.faults.decider.unwell(session, &self.line.1, self.attempt);
        }
        let struck = recovery_tracker::given_up(&self.proxy, &self.line, self.id);
        if let Some((account, fault)) = self.unheard.take().filter(|_| struck) {
            RunCounters::count(&self.proxy.telemetry.counters.faulted);
            account.set_outcome("faulted", None, OutcomeDetail::Nothing, fault);
        }
    }
}
