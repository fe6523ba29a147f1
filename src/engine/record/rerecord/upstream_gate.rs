//! The limits on requests to one upstream: how many are open at once, and whether any may be sent.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// The limits on requests to one upstream.
#[derive(Debug)]
pub(super) struct UpstreamGate {
    places: Semaphore,
    /// When the pause that the upstream asked for is over.
    until: Mutex<Option<Instant>>,
    /// Why nothing more may be sent.
    refusal: OnceLock<String>,
}

impl UpstreamGate {
    /// Returns a gate that lets at most `places` requests through at once.
    pub(super) fn new(places: usize) -> Self {
        let places = Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS));
        Self { places, until: Mutex::default(), refusal: OnceLock::new() }
    }

    /// Waits for a place. Returns `None` if the run is stopped first.
    pub(super) async fn acquire_place(
        &self,
        mut stop: watch::Receiver<bool>,
    ) -> Option<SemaphorePermit<'_>> {
        tokio::select! {
            place = self.places.acquire() => place.ok(),
            _ = stop.wait_for(|stop| *stop) => None,
        }
    }

    /// Waits until the pause is over. Returns `false` if the run is stopped first.
    pub(super) async fn wait_until_open(&self, mut stop: watch::Receiver<bool>) -> bool {
        loop {
            if *stop.borrow() {
                return false;
            }
            let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(until) = until.filter(|until| *until > Instant::now()) else { return true };
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                _ = stop.wait_for(|stop| *stop) => return false,
            }
        }
    }

    /// Lets no request through before this moment.
    pub(super) fn pause_until(&self, moment: Instant) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(until.map_or(moment, |known| known.max(moment)));
    }

    /// Lets no request through any more. Later calls do not change the reason.
    pub(super) fn refuse_all(&self, why: &str) {
        let _said_before = self.refusal.set(why.to_owned());
    }

    /// Returns why no request is let through.
    pub(super) fn refusal_reason(&self) -> Option<String> {
        self.refusal.get().cloned()
    }
}
