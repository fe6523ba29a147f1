//! What is settled when the answer of a call is over: whether its take is used up, whether its
//! client got a delayed answer, and whether open faults of the same call are recovered from.
//!
//! Whether the take is used up is known only then: a client may leave before a delayed answer, and
//! a fault may find nothing to change in an answer.

use std::sync::Arc;

use super::super::Proxy;
use super::fault_outcome::FaultOutcome;
use super::open_faults::TrackedCall;
use super::recovery_tracker;
use loomrec_engine::FoundTake;
use loomrec_fault::{CallKey, DecidedFault, FaultObstacle};
use loomrec_script::ScriptTurn;

/// What is to be settled when the answer of a call is over.
pub(in crate::server) struct FaultSettlement {
    /// The call.
    pub(super) call: TrackedCall,
    /// The attempt number of the call, from 1.
    pub(super) attempt: u64,
    /// The lease of the take, or of the script's call, that answers the call.
    pub(super) lease: Option<TakeLease>,
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

/// What answers a call, and whether the call has used it up.
pub(super) struct TakeLease {
    source: LeasedAnswer,
    /// Whether the answer is a good one.
    is_good: bool,
    /// Whether the call has used it up. A fault that does more than delay gives it back.
    is_held: bool,
}

/// The source of an answer.
#[derive(Clone)]
enum LeasedAnswer {
    /// The index of a take in its matcher.
    Take(usize),
    /// A call or a rule of the script.
    Scripted(ScriptTurn),
}

/// An answer that a fault delays.
pub(super) struct DelayedAnswer {
    /// The number of the fault.
    pub(super) fault: u64,
    /// Whether the call was counted as answered well, without a take.
    pub(super) was_good: bool,
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
    pub(super) fn recovery(call: TrackedCall) -> Self {
        Self {
            call,
            attempt: 1,
            lease: None,
            delayed: None,
            error_of: None,
            recovers: true,
            pending: None,
        }
    }

    /// Creates a settlement for a call that is answered with the error of this fault.
    pub(super) fn error(call: TrackedCall, fault: u64) -> Self {
        Self { error_of: Some(fault), recovers: false, ..Self::recovery(call) }
    }

    /// Settles a call whose answer ended in this way. Returns whether its client left before a
    /// delayed answer began: then the call got nothing but its fault.
    pub(in crate::server) fn settle(mut self, proxy: &Proxy, body: FaultBodyEnd) -> bool {
        if let Some(PendingFault { decided, outcome }) = self.pending.take() {
            let decider = &proxy.faults.decider;
            outcome.give_back(decider, &self.call.key, &decided, &FaultObstacle::ClientLeft);
        }
        if let Some(fault) = self.error_of.filter(|_| body.is_whole) {
            recovery_tracker::note_error_sent(proxy, fault);
        }
        if body.is_whole && self.recovers {
            recovery_tracker::note_answer(proxy, &self.call);
        }
        match self.lease.take() {
            Some(lease) if body.is_whole && !body.is_changed => self.consume(proxy, &lease),
            Some(lease) => self.release(proxy, &lease),
            None => {}
        }
        match self.delayed.take() {
            None => false,
            Some(delayed) if body.is_whole => {
                recovery_tracker::settle(proxy, delayed.fault, self.recovers);
                false
            }
            Some(delayed) => {
                if delayed.was_good {
                    proxy.faults.decider.restore_attempts(&self.call.key, self.attempt);
                }
                let has_fired = recovery_tracker::give_up(proxy, delayed.fault);
                has_fired && !delayed.has_head
            }
        }
    }

    /// Gives the take back before there is an answer, because it does not answer the call.
    pub(super) fn release_lease(&mut self, proxy: &Proxy) {
        if let Some(lease) = self.lease.take() {
            self.release(proxy, &lease);
        }
    }

    /// Uses up what answers the call, because no fault will keep its client from getting it. A client
    /// that leaves before gives it back.
    pub(super) fn consume_lease(&mut self, proxy: &Proxy) {
        if let Some(mut lease) = self.lease.take() {
            self.consume(proxy, &lease);
            lease.is_held = true;
            self.lease = Some(lease);
        }
    }

    /// Uses up what answered the call, whole and unchanged.
    fn consume(&self, proxy: &Proxy, lease: &TakeLease) {
        if lease.is_held {
            return;
        }
        let (session, replay) = (self.call.key.session(), proxy.engine.replay());
        match (&lease.source, replay) {
            (LeasedAnswer::Take(take), Some(replay)) => replay.consume(*take, session),
            (LeasedAnswer::Scripted(turn), Some(replay)) => {
                replay.script().into_iter().for_each(|script| script.consume(session, turn));
            }
            (_, None) => {}
        }
        if lease.is_good {
            proxy.faults.decider.reset_attempts(&self.call.key);
        }
    }

    /// Gives back what did not answer the call.
    fn release(&self, proxy: &Proxy, lease: &TakeLease) {
        if !lease.is_held {
            return;
        }
        lease.source.release(proxy, self.call.key.session());
        if lease.is_good {
            proxy.faults.decider.restore_attempts(&self.call.key, self.attempt);
        }
    }
}

impl TakeLease {
    /// Takes over the lease of a take from the engine.
    pub(super) fn of_take(found: &mut FoundTake<'_>) -> Self {
        let matched = found.matched();
        let (source, is_good) = (LeasedAnswer::Take(matched.index()), matched.take.is_success());
        let is_held = found.is_held();
        found.hand_over();
        Self { source, is_good, is_held }
    }

    /// Creates the lease of a call or a rule of the script. If it is not kept, it is given back at
    /// once: the call is the session's next one again.
    pub(super) fn of_script(
        proxy: &Proxy,
        key: &CallKey,
        scripted: ScriptTurn,
        is_good: bool,
        is_kept: bool,
    ) -> Self {
        let source = LeasedAnswer::Scripted(scripted);
        if !is_kept {
            source.release(proxy, key.session());
        }
        // If it is kept, the delayed answer records whether it was good.
        Self { source, is_good: is_good && !is_kept, is_held: is_kept }
    }
}

impl LeasedAnswer {
    fn release(&self, proxy: &Proxy, session: Option<&str>) {
        let Some(replay) = proxy.engine.replay() else { return };
        match self {
            Self::Take(take) => replay.release(*take, session),
            Self::Scripted(turn) => {
                replay.script().into_iter().for_each(|script| script.release(session, turn));
            }
        }
    }
}
