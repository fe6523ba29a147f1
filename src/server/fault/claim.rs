//! What a call has of the take behind its fault.
//!
//! Whether the take is used up is known only when the answer is over: a client may leave
//! one that comes late, and a fault may find nothing in one to happen to.

use std::sync::Arc;

use super::super::Gateway;
use super::watch::Line;
use crate::replay::Hit;

/// A call's claim to a take.
pub(super) struct Claim {
    gateway: Arc<Gateway>,
    line: Line,
    /// Which try the call is.
    attempt: u64,
    /// Which take, as its matcher counts them.
    take: usize,
    /// Whether its answer is a good one.
    well: bool,
    /// Whether the call has it: a fault that is no mere delay has given it back.
    held: bool,
}

impl Claim {
    /// The claim of a call of `line` to the take it was owed, which it has or has not.
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        line: &Line,
        attempt: u64,
        hit: &Hit<'_>,
        held: bool,
    ) -> Self {
        let (gateway, line) = (Arc::clone(gateway), line.clone());
        Self { gateway, line, attempt, take: hit.index(), well: hit.take.is_well(), held }
    }

    /// The call was answered by the take, whole and true: it is used up.
    pub(super) fn answered(mut self) {
        let (session, key) = (self.line.0.as_deref(), self.line.1.as_str());
        if let (false, Some(replayer)) = (self.held, &self.gateway.replayer) {
            replayer.use_up(self.take, session);
            if self.well {
                self.gateway.faults.decider.well(session, key);
            }
        }
        self.held = false;
    }
}

impl Drop for Claim {
    /// The call was not answered by the take, which is still owed.
    fn drop(&mut self) {
        let (session, key) = (self.line.0.as_deref(), self.line.1.as_str());
        if let (true, Some(replayer)) = (self.held, &self.gateway.replayer) {
            replayer.give_back(self.take, session);
            if self.well {
                self.gateway.faults.decider.unwell(session, key, self.attempt);
            }
        }
    }
}
