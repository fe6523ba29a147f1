//! What becomes of the take of a call that is over and whose client did not get all of the answer.

use std::sync::Arc;

use super::super::sending::Sending;
use super::OpenCall;
use loomrec_engine::{AnswerOrigin, CallOutcome};
use loomrec_telemetry::call_record::SendEnd;

impl OpenCall {
    /// Gives the take of a turn back if a fault of another turn cut the connection before all of the
    /// answer was sent: nothing was served.
    pub(super) fn settle_cut_turn(&mut self) {
        let connection = &self.context.connection;
        let is_cut_by_other = self.is_turn
            && self.record.fault.is_none()
            && connection.is_cut()
            && !connection.is_ended_with_run()
            && self.record.end == SendEnd::Aborted
            && !self.sending.as_ref().is_some_and(Sending::is_cut);
        let Some(replay) = self.proxy().engine.replay_engine().filter(|_| is_cut_by_other) else {
            return;
        };
        if let Some(AnswerOrigin::Take(take)) = &self.record.origin {
            replay.release_take(take.index, self.record.facts.session.as_deref());
            (self.record.origin, self.record.outcome) = (None, CallOutcome::Faulted);
        }
    }

    /// Gives the take back if the client did not read its answer, and did not read one either when
    /// the request was recorded. If the answer was sent, that shows when the connection is reset.
    pub(super) fn settle_unread_take(&self) {
        let Some(replay) = self.proxy().engine.replay_engine() else { return };
        let Some(AnswerOrigin::Take(take)) = &self.record.origin else { return };
        if !replay.matcher().has_undelivered() || self.record.fault.is_some() {
            return;
        }
        let (proxy, session) = (Arc::clone(self.proxy()), self.record.facts.session.clone());
        let take = take.index;
        // A client that got as much as the recorded one, and then left, has read it or not.
        let is_part = replay.matcher().part_of(take) == Some(self.record.bytes);
        let give_back = move || {
            if let Some(replay) = proxy.engine.replay_engine() {
                let _was_given_back = replay.matcher().count_as_given_up(take, session.as_deref());
            }
        };
        let reset = &self.context.connection.client_reset;
        match self.record.end {
            SendEnd::Aborted => {}
            SendEnd::ClientLeft if !is_part => give_back(),
            SendEnd::ClientLeft | SendEnd::Complete if reset.was_reset() => give_back(),
            SendEnd::ClientLeft | SendEnd::Complete => reset.on_reset(Box::new(give_back)),
        }
    }
}
