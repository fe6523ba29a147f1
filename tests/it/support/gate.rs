//! A signal by which one side of a test lets the other continue, so that none sleeps.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How long a test waits for anything before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A gate that is closed until it is opened, and then stays open.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    /// Waits until it is opened; returns false if that did not happen in time.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        let shut = self.0.0.lock().unwrap();
        *self.0.1.wait_timeout_while(shut, PATIENCE, |open| !*open).unwrap().0
    }
}
