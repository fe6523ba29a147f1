//! Calls whose answers end in the order of the recorded run.

use std::sync::Arc;

use super::end_turn::EndTurn;
use super::engine::ReplayEngine;
use super::matcher::TakeMatch;
use loomrec_recording::normalized_request::NormalizedRequest;

impl ReplayEngine {
    /// Gives a call that has found its take a turn in the order in which answers end, if its take
    /// overlapped others. From now on, others wait for its end.
    pub(super) fn with_turn<'a>(
        &self,
        hit: TakeMatch<'a>,
        observed: &NormalizedRequest,
    ) -> TakeMatch<'a> {
        let Some(order) = &self.end_order else { return hit };
        let Some(place) = order.overlap_place(hit.index()) else { return hit };
        let session = observed.session.as_deref().map(Arc::from);
        let turn = EndTurn::new(Arc::clone(order), place, session);
        TakeMatch { turn: Some(Box::new(turn)), ..hit }
    }

    /// Returns the same engine, whose answers end as soon as they can.
    #[must_use]
    pub fn without_end_order(mut self) -> Self {
        self.end_order = None;
        self
    }

    /// Returns how many answers were sent before others that had ended first in the recorded run,
    /// because they had waited for too long.
    pub fn ends_out_of_order(&self) -> u64 {
        self.end_order.as_ref().map_or(0, |order| order.out_of_order_answers())
    }
}
