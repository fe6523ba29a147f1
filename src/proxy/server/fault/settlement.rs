//! What is settled when the answer of a call is over: whether its take is used up, whether its
//! client got a delayed answer, and whether open faults of the same call are recovered from.
//!
//! Whether the take is used up is known only then: a client may leave before a delayed answer, and
//! a fault may find nothing to change in an answer.

use std::sync::Arc;

use super::super::Proxy;
use super::fault_outcome::FaultOutcome;
use super::recovery_tracker;
use super::tracked_call::TrackedCall;
use loomrec_engine::KeptLease;
use loomrec_fault::{CallAttempt, CallConclusion, DecidedFault, FaultObstacle};

/// What is to be settled when the answer of a call is over.
pub(in crate::server) struct FaultSettlement {
    /// The call.
    pub(super) tracked: TrackedCall,
    /// The attempt that the call is.
    pub(super) attempt: CallAttempt,
    /// The lease of the take, or of the script's call, that answers the call.
    pub(super) lease: Option<LeasedAnswer>,
    /// The answer, if its fault delays it.
    pub(super) delayed: Option<DelayedAnswer>,
    /// The number of the fault, if the client gets an error in place of the answer, or at its end.
    pub(super) error_of: Option<u64>,
    /// Whether the open faults that the call recovers from end once the whole answer was sent.
    pub(super) recovers: bool,
    /// The fault, if it depends on the answer whether it happens.
    pub(super) pending: Option<PendingFault>,
}

/// A fault of which it is not known yet whether it happens.
pub(super) struct PendingFault {
    pub(super) decided: DecidedFault,
    pub(super) outcome: Arc<FaultOutcome>,
}

/// What answers a call, and the lease of it.
pub(super) struct LeasedAnswer {
    pub(super) lease: KeptLease,
    /// Whether the answer is a good one.
    pub(super) is_good: bool,
}

/// An answer that a fault delays.
pub(super) struct DelayedAnswer {
    /// The number of the fault.
    pub(super) fault: u64,
    /// Whether the head of the answer was available.
    pub(super) has_head: bool,
}

/// How the body of an answer ended.
#[derive(Clone, Copy)]
pub(in crate::server) struct FaultBodyEnd {
    /// Whether the client got the whole body.
    pub(in crate::server) is_whole: bool,
    /// Whether a fault changed it.
    pub(in crate::server) is_changed: bool,
}

impl FaultSettlement {
    /// Creates a settlement that only ends the open faults that this call recovers from, after a
    /// whole answer.
    pub(super) fn for_recovery(tracked: TrackedCall) -> Self {
        Self {
            tracked,
            attempt: CallAttempt::default(),
            lease: None,
            delayed: None,
            error_of: None,
            recovers: true,
            pending: None,
        }
    }

    /// Creates a settlement for a call that is answered with the error of this fault.
    pub(super) fn for_error(tracked: TrackedCall, fault: u64) -> Self {
        Self { error_of: Some(fault), recovers: false, ..Self::for_recovery(tracked) }
    }

    /// Settles a call whose answer ended in this way. Returns whether its client left before a
    /// delayed answer began: then the call got nothing but its fault.
    pub(in crate::server) fn settle_call(mut self, proxy: &Proxy, body: FaultBodyEnd) -> bool {
        if let Some(PendingFault { decided, outcome }) = self.pending.take() {
            let decider = &proxy.faults.decider;
            outcome.give_back(decider, &self.tracked.key, &decided, &FaultObstacle::ClientLeft);
        }
        if let Some(fault) = self.error_of.filter(|_| body.is_whole) {
            recovery_tracker::note_error_sent(proxy, fault);
        }
        if body.is_whole && self.recovers {
            recovery_tracker::note_answer(proxy, &self.tracked);
        }
        let is_received = body.is_whole && !body.is_changed;
        let is_late = self.delayed.is_some() && !body.is_whole;
        match self.lease.take() {
            Some(LeasedAnswer { lease, is_good }) if is_received => {
                lease.consume();
                self.conclude_attempt(proxy, CallConclusion::Answered { is_good });
            }
            None if !is_late => {}
            lease => {
                drop(lease);
                self.conclude_attempt(proxy, CallConclusion::NotReceived);
            }
        }
        match self.delayed.take() {
            None => false,
            Some(delayed) if body.is_whole => {
                recovery_tracker::settle_fault(proxy, delayed.fault, self.recovers);
                false
            }
            Some(delayed) => {
                let has_fired = recovery_tracker::give_up(proxy, delayed.fault);
                has_fired && !delayed.has_head
            }
        }
    }

    /// Settles a call whose answer is passed on unchanged. `is_good` says whether it is a good one.
    pub(super) fn settle_unchanged(mut self, proxy: &Proxy, is_good: bool) {
        if self.lease.is_none() {
            self.conclude_attempt(proxy, CallConclusion::Answered { is_good });
        }
        self.settle_call(proxy, FaultBodyEnd { is_whole: true, is_changed: false });
    }

    /// Gives back what does not answer the call.
    pub(super) fn release_lease(&mut self, proxy: &Proxy) {
        if let Some(LeasedAnswer { lease, .. }) = self.lease.take() {
            lease.release();
            self.conclude_attempt(proxy, CallConclusion::NotReceived);
        }
    }

    /// Uses up what answers the call, because no fault will keep its client from getting it. A client
    /// that leaves before gives it back.
    pub(super) fn reclaim_lease(&mut self, proxy: &Proxy) {
        if let Some(LeasedAnswer { lease, is_good }) = &mut self.lease {
            lease.reclaim();
            let is_good = *is_good;
            self.conclude_attempt(proxy, CallConclusion::Answered { is_good });
        }
    }

    /// Takes account of how the call was concluded.
    pub(super) fn conclude_attempt(&mut self, proxy: &Proxy, conclusion: CallConclusion) {
        proxy.faults.decider.conclude_call(&self.tracked.key, &mut self.attempt, conclusion);
    }
}
