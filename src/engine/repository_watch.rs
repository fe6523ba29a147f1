//! The watch over the repository of CMD: it reads the state anew when a request may have another one
//! than those that are known.

use std::fmt;
use std::sync::Arc;

use loomrec_identity::{RepositoryStates, RunValues};
use loomrec_recording::normalized_request::NormalizedRequest;

/// Reads the state of a repository.
type ReadState = Box<dyn Fn() -> RunValues + Send + Sync>;

/// Reads the state of a repository when a request may have one that is not known.
pub struct RepositoryWatch {
    /// The values of the run, with the state at its start.
    start: RunValues,
    states: Arc<RepositoryStates>,
    read: ReadState,
}

impl RepositoryWatch {
    /// Returns a watch for a run with these values. It adds what `read` returns to `states`.
    pub fn new(
        start: RunValues,
        states: Arc<RepositoryStates>,
        read: impl Fn() -> RunValues + Send + Sync + 'static,
    ) -> Self {
        Self { start, states, read: Box::new(read) }
    }

    /// Looks at a request that has just arrived. If its client writes the state of the repository
    /// into requests, and this one has a state that is not known, the state is read now. Blocks on
    /// git.
    pub fn look_at(&self, observed: &NormalizedRequest) {
        let Some(preset) = observed.client_preset() else { return };
        if self.states.is_full() || !preset.finds_repository() {
            return;
        }
        let mut known = self.states.of_run(&self.start);
        known.push(self.start.clone());
        if observed.has_other_state(&preset.rules, &known) {
            self.states.add(&(self.read)());
        }
    }
}

impl fmt::Debug for RepositoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepositoryWatch").field("states", &self.states).finish_non_exhaustive()
    }
}
