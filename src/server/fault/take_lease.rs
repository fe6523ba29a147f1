//! What a call has of the take behind its fault.
//!
//! Whether the take is used up is known only when the answer is over: a client may leave
//! one that comes late, and a fault may find nothing in one to happen to.

use std::sync::Arc;

use super::super::Proxy;
use super::recovery_tracker::SessionKey;
use crate::replay::TakeMatch;

/// What answers a call.
#[derive(Clone, Copy)]
enum What {
    /// A take, as its matcher counts them.
    Take(usize),
    /// A call of the script, from 1.
    Scripted(usize),
}

/// A call's claim to a take, or to a call of the script.
pub(super) struct TakeLease {
    gateway: Arc<Proxy>,
    line: SessionKey,
    /// Which try the call is.
    attempt: u64,
    what: What,
    /// Whether its answer is a good one.
    well: bool,
    /// Whether the call has it: a fault that is no mere delay has given it back.
    held: bool,
}

impl TakeLease {
    /// The claim of a call of `line` to the take it was owed, which it has or has not.
    pub(super) fn new(
        gateway: &Arc<Proxy>,
        line: &SessionKey,
        attempt: u64,
        hit: &TakeMatch<'_>,
        held: bool,
    ) -> Self {
        let (gateway, line) = (Arc::clone(gateway), line.clone());
        let what = What::Take(hit.index());
        Self { gateway, line, attempt, what, well: hit.take.is_well(), held }
    }

    /// The claim of a call to what the script has for it. Where it does not keep it, it is
    /// the session's next one again.
    pub(super) fn scripted(
        gateway: &Arc<Proxy>,
        line: &SessionKey,
        (call, good): (usize, bool),
        keeps: bool,
    ) -> Self {
        let (gateway, line) = (Arc::clone(gateway), line.clone());
        // Whether one that is kept was a good answer is seen to by who delays it.
        let well = good && !keeps;
        let what = What::Scripted(call);
        let claim = Self { gateway, line, attempt: 1, what, well, held: keeps };
        if !keeps {
            claim.give_back();
        }
        claim
    }

    fn give_back(&self) {
        let session = self.line.0.as_deref();
        let Some(replayer) = &self.gateway.replayer else { return };
        match self.what {
            What::Take(take) => replayer.give_back(take, session),
            What::Scripted(call) => {
                replayer.script().into_iter().for_each(|script| script.give_back(session, call));
            }
        }
    }

    fn use_up(&self) {
        let session = self.line.0.as_deref();
        let Some(replayer) = &self.gateway.replayer else { return };
        match self.what {
            What::Take(take) => replayer.use_up(take, session),
            What::Scripted(call) => {
                replayer.script().into_iter().for_each(|script| script.use_up(session, call));
            }
        }
    }

    /// The call was answered by the take, whole and true: it is used up.
    pub(super) fn answered(mut self) {
        let (session, key) = (self.line.0.as_deref(), self.line.1.as_str());
        if !self.held {
            self.use_up();
            if self.well {
                self.gateway.faults.decider.well(session, key);
            }
        }
        self.held = false;
    }
}

impl Drop for TakeLease {
    /// The call was not answered by the take, which is still owed.
    fn drop(&mut self) {
        let (session, key) = (self.line.0.as_deref(), self.line.1.as_str());
        if self.held {
            self.give_back();
            if self.well {
                self.gateway.faults.decider.unwell(session, key, self.attempt);
            }
        }
    }
}
