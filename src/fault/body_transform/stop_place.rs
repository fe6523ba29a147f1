//! The place at which a body is to stop, as a report says it.

use crate::{FaultObstacle, FaultPoint, PlaceUnit};
use loomrec_provider::framing::Framing;

/// The place at which a body is to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopPlace {
    /// What happens there.
    what: &'static str,
    unit: PlaceUnit,
    place: u64,
}

impl StopPlace {
    pub(super) fn new(
        what: &'static str,
        after: FaultPoint,
        framing: Option<Framing>,
        announced: Option<u64>,
    ) -> Self {
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let (unit, place) = match (after, framing) {
            (FaultPoint::Chunks(chunks), _) => (PlaceUnit::Chunks, wide(chunks)),
            (FaultPoint::Events(events), _) => (PlaceUnit::Events, wide(events)),
            (FaultPoint::TextEvents(events), _) => (PlaceUnit::TextEvents, wide(events)),
            (FaultPoint::Bytes(bytes), _) => (PlaceUnit::Bytes, bytes),
            (FaultPoint::Default, Some(_)) => (PlaceUnit::Events, 1),
            (FaultPoint::Default, None) => (PlaceUnit::Bytes, announced.unwrap_or(0) / 2),
        };
        Self { what, unit, place }
    }

    /// Returns why a body did not stop that ended with so many units to go.
    pub(super) fn obstacle(self, left: u64) -> FaultObstacle {
        let Self { what, unit, place } = self;
        let has = place.saturating_sub(left);
        match unit {
            PlaceUnit::Bytes if has == 0 => FaultObstacle::Empty,
            unit => FaultObstacle::TooShort { has, unit, what, place },
        }
    }
}
