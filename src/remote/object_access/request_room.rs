//! How many requests are under way to a store at the same time.
//!
//! Over a slow link, many requests share its speed, and each of them is silent for long. So the
//! number falls by half when a request has timed out, and rises again with answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many requests are sent at the same time at most.
pub(crate) const PARALLEL: usize = 32;

/// How many answers the number rises by one after, for each request that may be under way.
const ANSWERS_TO_RISE: usize = 8;

/// How often the number falls before the store counts as silent, if nothing is answered meanwhile.
const SILENT_FALLS: u32 = 3;

/// The room for requests to one store.
#[derive(Debug)]
pub(super) struct RequestRoom {
    permits: Arc<Semaphore>,
    most: usize,
    level: Mutex<RoomLevel>,
}

#[derive(Debug)]
struct RoomLevel {
    /// How many requests may be under way.
    limit: usize,
    /// How many more are under way since the limit fell.
    surplus: usize,
    under_way: usize,
    /// How many were answered since the limit changed.
    answered: usize,
    /// How often the limit fell.
    falls: u64,
    /// How often since the last answer.
    silent_falls: u32,
}

/// The place of a request that is under way.
#[derive(Debug)]
pub(super) struct RequestPlace {
    room: Arc<RequestRoom>,
    permit: Option<OwnedSemaphorePermit>,
    falls: u64,
}

impl RequestRoom {
    /// Creates the room for this many requests at most.
    pub(super) fn new(most: usize) -> Arc<Self> {
        let level = RoomLevel {
            limit: most,
            surplus: 0,
            under_way: 0,
            answered: 0,
            falls: 0,
            silent_falls: 0,
        };
        Arc::new(Self { permits: Arc::new(Semaphore::new(most)), most, level: Mutex::new(level) })
    }

    /// Waits for a place.
    pub(super) async fn wait_for_place(self: &Arc<Self>) -> RequestPlace {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let mut level = self.lock_level();
        level.under_way += 1;
        RequestPlace { room: Arc::clone(self), permit, falls: level.falls }
    }

    fn lock_level(&self) -> MutexGuard<'_, RoomLevel> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestPlace {
    /// Notes that the request was answered.
    pub(super) fn note_answer(&self) {
        let mut level = self.room.lock_level();
        level.answered += 1;
        level.silent_falls = 0;
        if level.answered < level.limit * ANSWERS_TO_RISE || level.limit == self.room.most {
            return;
        }
        level.limit += 1;
        level.answered = 0;
        match level.surplus {
            0 => self.room.permits.add_permits(1),
            _ => level.surplus -= 1,
        }
    }

    /// Notes that the request has timed out. Requests that began before the limit fell do not make
    /// it fall again. Returns whether it may succeed with fewer others under way.
    pub(super) fn note_timeout(&self) -> bool {
        let mut level = self.room.lock_level();
        let had_others = level.under_way > 1 || level.falls > self.falls;
        if level.falls == self.falls && level.limit > 1 {
            let limit = level.limit / 2;
            level.surplus += level.limit - limit;
            level.limit = limit;
            level.answered = 0;
            level.falls += 1;
            level.silent_falls += 1;
            let free = self.room.permits.forget_permits(level.surplus);
            level.surplus -= free;
        }
        had_others && level.silent_falls <= SILENT_FALLS
    }
}

impl Drop for RequestPlace {
    fn drop(&mut self) {
        let mut level = self.room.lock_level();
        level.under_way -= 1;
        if level.surplus > 0
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            level.surplus -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    /// Takes all places that are free.
    fn fill(room: &Arc<RequestRoom>) -> Vec<RequestPlace> {
        std::iter::from_fn(|| room.wait_for_place().now_or_never()).collect()
    }

    #[test]
    fn room_falls_by_half_once_for_requests_that_time_out_together() {
        let room = RequestRoom::new(32);
        let places = fill(&room);
        assert_eq!(places.len(), 32);
        assert!(places.iter().all(RequestPlace::note_timeout));
        drop(places);
        for expected in [16, 8, 4, 2, 1, 1] {
            let places = fill(&room);
            assert_eq!(places.len(), expected);
            places[0].note_answer();
            assert_eq!(places[0].note_timeout(), expected > 1, "one alone had no others");
        }
    }

    #[test]
    fn store_that_answers_nothing_is_silent() {
        let room = RequestRoom::new(32);
        for (places, is_worth_it) in [(32, true), (16, true), (8, true), (4, false), (2, false)] {
            let filled = fill(&room);
            assert_eq!(filled.len(), places);
            assert_eq!(filled[0].note_timeout(), is_worth_it);
        }
    }

    #[test]
    fn room_falls_while_places_are_free() {
        let room = RequestRoom::new(8);
        let place = room.wait_for_place().now_or_never().unwrap();
        assert!(!place.note_timeout());
        assert_eq!(fill(&room).len(), 3);
        drop(place);
        assert_eq!(fill(&room).len(), 4);
    }

    #[test]
    fn room_rises_with_answers_up_to_the_most() {
        let room = RequestRoom::new(4);
        fill(&room)[0].note_timeout();
        for expected in [2, 3, 4, 4] {
            let places = fill(&room);
            assert_eq!(places.len(), expected);
            for _ in 0..ANSWERS_TO_RISE {
                places.iter().for_each(RequestPlace::note_answer);
            }
        }
    }

    #[test]
    fn room_that_falls_and_rises_while_full_ends_at_its_limit() {
        let room = RequestRoom::new(4);
        let places = fill(&room);
        places[0].note_timeout();
        (0..2 * ANSWERS_TO_RISE).for_each(|_| places[1].note_answer());
        assert!(room.wait_for_place().now_or_never().is_none());
        drop(places);
        assert_eq!(fill(&room).len(), 3);
    }
}
