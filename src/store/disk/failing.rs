//! A disk that fails at the Nth change.

use std::io;
use std::sync::{Arc, Mutex};

use super::DiskChange;

/// When the disk fails, and how. Clones share the state.
#[derive(Clone, Debug)]
pub(crate) struct Plan(Arc<Mutex<PlanState>>);

/// How storage fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskFailure {
    /// That one change is not done.
    Error,
    /// That one change finds no space left; half of a write arrives.
    Short,
    /// There is no space for that change and every later one that needs some, until [`Plan::heal`];
    /// half of the first write arrives.
    Full,
    /// The process dies at that change: half of a write arrives, and nothing later does.
    Crash,
}

#[derive(Debug)]
struct PlanState {
    seen: usize,
    at: usize,
    how: DiskFailure,
    /// The changes that were done, or failed, in order.
    done: Vec<&'static str>,
}

impl Plan {
    /// Returns a plan that fails at the change `at`, counted from 0.
    pub(crate) fn new(at: usize, how: DiskFailure) -> Self {
        Self(Arc::new(Mutex::new(PlanState { seen: 0, at, how, done: Vec::new() })))
    }

    /// Returns a plan that never fails, and counts.
    pub(crate) fn counting() -> Self {
        Self::new(usize::MAX, DiskFailure::Error)
    }

    /// Whether there were enough changes for it to fail.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.0.lock().unwrap();
        state.seen > state.at
    }

    /// Returns the changes that were requested, in order.
    pub(crate) fn done(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().done.clone()
    }

    /// Stops all failures.
    pub(crate) fn heal(&self) {
        self.0.lock().unwrap().at = usize::MAX;
    }

    /// Fails everything from now on.
    pub(crate) fn fail_now(&self, how: DiskFailure) {
        let mut state = self.0.lock().unwrap();
        (state.at, state.how) = (state.seen, how);
    }

    pub(super) fn meet(&self, change: DiskChange<'_>) -> io::Result<()> {
        let (fails, how) = {
            let mut state = self.0.lock().unwrap();
            state.seen += 1;
            state.done.push(match &change {
                DiskChange::Write(..) => "write",
                DiskChange::Other(what) => what,
            });
            let now = state.seen - 1;
            let lasts = match state.how {
                DiskFailure::Full => {
                    !matches!(change, DiskChange::Other("set length" | "remove" | "rename"))
                }
                how => how == DiskFailure::Crash,
            };
            (now == state.at || (lasts && now > state.at), (state.how, now == state.at))
        };
        match change {
            DiskChange::Write(write, bytes) if fails => {
                if matches!(
                    how,
                    (DiskFailure::Short | DiskFailure::Full | DiskFailure::Crash, true)
                ) {
                    write(&bytes[..bytes.len() / 2])?;
                }
                Err(error(how.0))
            }
            DiskChange::Write(write, bytes) => write(bytes),
            DiskChange::Other(_) if fails => Err(error(how.0)),
            DiskChange::Other(_) => Ok(()),
        }
    }
}

fn error(how: DiskFailure) -> io::Error {
    match how {
        DiskFailure::Short | DiskFailure::Full => io::ErrorKind::StorageFull.into(),
        DiskFailure::Error | DiskFailure::Crash => io::Error::other("storage fails"),
    }
}
