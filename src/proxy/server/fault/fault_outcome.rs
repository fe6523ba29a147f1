//! What became of a decided fault: it happens at most once, or is given back at most once.
//!
//! Whether a fault happens may depend on the answer, which is known only after the decision. If it
//! cannot happen, it has not used up one of its `times`, and the next call that can have it gets it.
//! So that this is the same call in every run, calls of one key wait for each other until the
//! outcome is known. A recorded answer tells it at once; a live one tells it as it comes, so the
//! calls of a recording run do not wait.

use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Mutex, OwnedMutexGuard};

use loomrec_fault::{CallKey, DecidedFault, FaultDecider, FaultObstacle};

/// How many groups of keys there are. Calls of one group wait for each other.
const GROUPS: usize = 64;

const PENDING: u8 = 0;
const FIRED: u8 = 1;
const GIVEN_BACK: u8 = 2;

/// What became of a decided fault.
#[derive(Debug, Default)]
pub(super) struct FaultOutcome(AtomicU8);

/// The permit to decide the fault of a call. No other call of its key is decided before it is
/// dropped.
pub(super) type OutcomePermit = OwnedMutexGuard<()>;

/// The order in which calls are decided if their faults depend on their answers.
#[derive(Debug)]
pub(super) struct OutcomeOrder([Arc<Mutex<()>>; GROUPS]);

impl FaultOutcome {
    /// Notes that the fault has happened. Returns whether that is news.
    pub(super) fn note_fired(&self) -> bool {
        self.0.swap(FIRED, Ordering::AcqRel) != FIRED
    }

    /// Gives the fault back unless it has happened, or was given back before.
    pub(super) fn give_back(
        &self,
        decider: &FaultDecider,
        key: &CallKey,
        decided: &DecidedFault,
        why: &FaultObstacle,
    ) {
        let (pending, back) = (PENDING, GIVEN_BACK);
        if self.0.compare_exchange(pending, back, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            decider.give_back(key, decided, why);
        }
    }
}

impl OutcomeOrder {
    /// Waits until the outcomes of earlier calls are known: those of this key, or of the step that
    /// the calls name. Calls are admitted in the order in which they come.
    pub(super) async fn wait_for_turn(&self, key: &CallKey) -> OutcomePermit {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let hash = match key.step_id() {
            Some(step) => hasher.hash_one((key.session(), step)),
            None => hasher.hash_one(key),
        };
        Arc::clone(&self.0[hash as usize % GROUPS]).lock_owned().await
    }
}

impl Default for OutcomeOrder {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Arc::default()))
    }
}
