//! A call's lease of the take behind its fault: released or consumed when the answer is over.
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
    proxy: Arc<Proxy>,
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
        proxy: &Arc<Proxy>,
        line: &SessionKey,
        attempt: u64,
        hit: &TakeMatch<'_>,
        held: bool,
    ) -> Self {
        let (proxy, line) = (Arc::clone(proxy), line.clone());
        let what = What::Take(hit.index());
        Self { proxy, line, attempt, what, well: hit.take.is_well(), held }
    }

    /// The claim of a call to what the script has for it. Where it does not keep it, it is
    /// the session's next one again.
    pub(super) fn scripted(
        proxy: &Arc<Proxy>,
        line: &SessionKey,
        (call, good): (usize, bool),
        keeps: bool,
    ) -> Self {
        let (proxy, line) = (Arc::clone(proxy), line.clone());
        // Whether one that is kept was a good answer is seen to by who delays it.
        let well = good && !keeps;
        let what = What::Scripted(call);
        let claim = Self { proxy, line, attempt: 1, what, well, held: keeps };
        if !keeps {
            claim.release();
        }
        claim
    }

    fn release(&self) {
        let session = self.line.0.as_deref();
        let Some(replayer) = &self.proxy.replayer else { return };
        match self.what {
            What::Take(take) => replayer.release(take, session),
            What::Scripted(call) => {
                replayer.script().into_iter().for_each(|script| script.release(session, call));
            }
        }
    }

    fn consume(&self) {
        let session = self.line.0.as_deref();
        let Some(replayer) = &self.proxy.replayer else { return };
        match self.what {
            What::Take(take) => replayer.consume(take, session),
            What::Scripted(call) => {
                replayer.script().into_iter().for_each(|script| script.consume(session, call));
            }
        }
    }

    /// The call was answered by the take, whole and true: it is used up.
    pub(super) fn answered(mut self) {
        let (session, key) = (self.line.0.as_deref(), self.line.1.as_str());
        if !self.held {
            self.consume();
            if self.well {
                self.proxy.faults.decider.well(session, key);
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
            self.release();
            if self.well {
                self.proxy.faults.decider.unwell(session, key, self.attempt);
            }
        }
    }
}
