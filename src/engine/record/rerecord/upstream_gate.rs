//! The way to one upstream: how many go there at once, and whether anyone may.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// The way to one upstream.
#[derive(Debug)]
pub(super) struct UpstreamGate {
    places: Semaphore,
    /// When it opens again, where the upstream has asked for a pause.
    until: Mutex<Option<Instant>>,
    /// Why nothing more is to be sent.
    refusal: OnceLock<String>,
}

impl UpstreamGate {
    /// A gate through which so many go at once.
    pub(super) fn new(places: usize) -> Self {
        let places = Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS));
        Self { places, until: Mutex::default(), refusal: OnceLock::new() }
    }

    /// Waits for a place; `None` where the run is told to stop before.
    pub(super) async fn enter(
        &self,
        mut stop: watch::Receiver<bool>,
    ) -> Option<SemaphorePermit<'_>> {
        tokio::select! {
            place = self.places.acquire() => place.ok(),
            _ = stop.wait_for(|stop| *stop) => None,
        }
    }

    /// Waits until the pause is over; `false` where the run is told to stop before.
    pub(super) async fn opened(&self, mut stop: watch::Receiver<bool>) -> bool {
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

    /// Nobody is to be sent before this moment.
    pub(super) fn hold(&self, moment: Instant) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(until.map_or(moment, |known| known.max(moment)));
    }

    /// Nobody is to be sent any more. The first reason stands.
    pub(super) fn refuse(&self, why: &str) {
        let _said_before = self.refusal.set(why.to_owned());
    }

    /// Why nobody is to be sent.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.get().cloned()
    }
}
