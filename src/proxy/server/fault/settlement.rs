//! What a call leaves to be settled when its answer is over: whether its take is used up,
//! whether its client got a delayed answer, and whether faults of the same call are recovered
//! from.
//!
//! Whether the take is used up is known only then: a client may leave an answer that comes late,
//! and a fault may find nothing in an answer to change.

use super::super::Proxy;
use super::recovery_tracker;
use loomrec_engine::OwedTake;
use loomrec_fault::CallKey;

/// What a call leaves to be settled when its answer is over.
pub(in crate::server) struct FaultSettlement {
    /// The key of the call.
    pub(super) key: CallKey,
    /// Which attempt the call is, from 1.
    pub(super) attempt: u64,
    /// The take that answers the call, or the call of the script.
    pub(super) lease: Option<TakeLease>,
    /// The answer that its fault delays.
    pub(super) delayed: Option<DelayedAnswer>,
    /// Whether the faults of its key are recovered from once all of its answer was sent.
    pub(super) recovers: bool,
}

/// What a call's answer is made of, and whether the call has used it up.
pub(super) struct TakeLease {
    source: LeasedAnswer,
    /// Whether the answer is a good one.
    is_good: bool,
    /// Whether it is used up by the call: a fault that does more than delay gives it back.
    is_held: bool,
}

/// What answers a call.
#[derive(Clone, Copy)]
enum LeasedAnswer {
    /// A take, as its matcher counts them.
    Take(usize),
    /// A call of the script, from 1.
    Scripted(usize),
}

/// An answer that its fault delays.
pub(super) struct DelayedAnswer {
    /// The number of the fault.
    pub(super) fault: u64,
    /// Whether the call was counted as answered well, by no take.
    pub(super) was_good: bool,
    /// Whether the head of the answer was there.
    pub(super) has_head: bool,
}

/// How the body of an answer ended.
#[derive(Clone, Copy)]
pub(in crate::server) struct FaultBodyEnd {
    /// Whether the client got all there was to get.
    pub(in crate::server) is_whole: bool,
    /// Whether a fault changed it.
    pub(in crate::server) is_changed: bool,
}

impl FaultSettlement {
    /// Nothing but that faults of this key are recovered from by a whole answer.
    pub(super) fn recovery(key: CallKey) -> Self {
        Self { key, attempt: 1, lease: None, delayed: None, recovers: true }
    }

    /// Settles the call, whose answer ended like this. Returns whether its client left before a
    /// delayed answer began: the call got its fault and nothing else.
    pub(in crate::server) fn settle(mut self, proxy: &Proxy, body: FaultBodyEnd) -> bool {
        if body.is_whole && self.recovers {
            recovery_tracker::recovered(proxy, &self.key);
        }
        match self.lease.take() {
            Some(lease) if body.is_whole && !body.is_changed => self.consume(proxy, &lease),
            Some(lease) => self.release(proxy, &lease),
            None => {}
        }
        match self.delayed.take() {
            None => false,
            Some(delayed) if body.is_whole => {
                recovery_tracker::settle(proxy, &self.key, delayed.fault);
                false
            }
            Some(delayed) => {
                if delayed.was_good {
                    proxy.faults.decider.restore_attempts(&self.key, self.attempt);
                }
                let has_fired = recovery_tracker::given_up(proxy, &self.key, delayed.fault);
                has_fired && !delayed.has_head
            }
        }
    }

    /// Gives the take back before there is an answer: nothing answers the call.
    pub(super) fn release_lease(&mut self, proxy: &Proxy) {
        if let Some(lease) = self.lease.take() {
            self.release(proxy, &lease);
        }
    }

    /// The call was answered with it, whole and unchanged: it is used up.
    fn consume(&self, proxy: &Proxy, lease: &TakeLease) {
        if lease.is_held {
            return;
        }
        let (session, replay) = (self.key.session(), proxy.engine.replay());
        match (lease.source, replay) {
            (LeasedAnswer::Take(take), Some(replay)) => replay.consume(take, session),
            (LeasedAnswer::Scripted(call), Some(replay)) => {
                replay.script().into_iter().for_each(|script| script.consume(session, call));
            }
            (_, None) => {}
        }
        if lease.is_good {
            proxy.faults.decider.reset_attempts(&self.key);
        }
    }

    /// The call was not answered with it, which is still owed.
    fn release(&self, proxy: &Proxy, lease: &TakeLease) {
        if !lease.is_held {
            return;
        }
        lease.source.release(proxy, self.key.session());
        if lease.is_good {
            proxy.faults.decider.restore_attempts(&self.key, self.attempt);
        }
    }
}

impl TakeLease {
    /// The lease of a take that a call is owed.
    pub(super) fn of_take(owed: &mut OwedTake<'_>) -> Self {
        let matched = owed.matched();
        let (source, is_good) = (LeasedAnswer::Take(matched.index()), matched.take.is_well());
        let is_held = owed.is_held();
        owed.hand_over();
        Self { source, is_good, is_held }
    }

    /// The lease of a call of the script. Where it is not kept, it is the session's next one
    /// again at once.
    pub(super) fn of_script(
        proxy: &Proxy,
        key: &CallKey,
        scripted: usize,
        is_good: bool,
        is_kept: bool,
    ) -> Self {
        let source = LeasedAnswer::Scripted(scripted);
        if !is_kept {
            source.release(proxy, key.session());
        }
        // Where it is kept, the delayed answer knows whether it was a good one.
        Self { source, is_good: is_good && !is_kept, is_held: is_kept }
    }
}

impl LeasedAnswer {
    fn release(self, proxy: &Proxy, session: Option<&str>) {
        let Some(replay) = proxy.engine.replay() else { return };
        match self {
            Self::Take(take) => replay.release(take, session),
            Self::Scripted(call) => {
                replay.script().into_iter().for_each(|script| script.release(session, call));
            }
        }
    }
}
