//! Connection limits.
//!
//! A connection above the limit is still accepted, so that its client learns the reason: it gets a
//! 503 for its first request, for which it has little time. Above a second limit, connections are
//! closed at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many connections above the limit can get a refusal at the same time.
const TURNED_AWAY: usize = 64;

/// A limit on connections.
#[derive(Debug)]
pub struct ConnectionLimit {
    /// The number of connections that are served at once.
    most: usize,
    served: Arc<Semaphore>,
    turned_away: Arc<Semaphore>,
    /// Whether the person at the terminal has been notified.
    is_told: AtomicBool,
}

/// How a connection is admitted. Its place is free again once this is dropped.
#[derive(Debug)]
pub(super) enum Admission {
    /// Its requests are answered.
    Served { _place: OwnedSemaphorePermit },
    /// Its first request gets a 503.
    TurnedAway { _place: OwnedSemaphorePermit },
}

impl Admission {
    /// Whether its requests are answered.
    pub(super) fn is_served(&self) -> bool {
        matches!(self, Self::Served { .. })
    }
}

impl ConnectionLimit {
    /// Creates a limit of this many connections.
    pub fn new(most: usize) -> Self {
        let semaphore =
            |places: usize| Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self {
            most,
            served: semaphore(most),
            turned_away: semaphore(TURNED_AWAY),
            is_told: AtomicBool::new(false),
        }
    }

    /// Returns the limit.
    pub(super) fn most_connections(&self) -> usize {
        self.most
    }

    /// Admits one more connection, or returns `None` if it is to be closed at once.
    pub(super) fn admit_connection(&self) -> Option<Admission> {
        if let Ok(place) = Arc::clone(&self.served).try_acquire_owned() {
            return Some(Admission::Served { _place: place });
        }
        let place = Arc::clone(&self.turned_away).try_acquire_owned().ok()?;
        Some(Admission::TurnedAway { _place: place })
    }

    /// Whether this is the first connection above the limit. True once.
    pub(super) fn is_first_excess(&self) -> bool {
        !self.is_told.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_above_the_limit_are_turned_away_and_then_closed() {
        let limit = ConnectionLimit::new(2);
        let mut held: Vec<_> =
            (0..2 + TURNED_AWAY).map(|_| limit.admit_connection().unwrap()).collect();
        assert_eq!(held.iter().filter(|admission| admission.is_served()).count(), 2);
        assert!(limit.admit_connection().is_none());
        held.remove(0);
        assert!(limit.admit_connection().unwrap().is_served());
        assert!(limit.is_first_excess() && !limit.is_first_excess());
    }
}
