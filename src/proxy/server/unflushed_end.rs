//! The end of an answer that is written, and has not gone to the system yet: until then, answers that
//! end after it wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use loomrec_engine::replay::EndTurn;

/// The turn of the last answer of a connection, in the order in which answers end.
#[derive(Debug, Default)]
pub(super) struct UnflushedEnd {
    /// Whether there is one. Most answers have none, so no lock is taken for them.
    is_kept: AtomicBool,
    is_closed: AtomicBool,
    turn: Mutex<Option<Box<EndTurn>>>,
}

impl UnflushedEnd {
    /// Keeps a turn until everything that was written so far has gone to the system, or the
    /// connection is closed.
    pub(super) fn keep_turn(&self, turn: Box<EndTurn>) {
        let before = self.turn.lock().unwrap_or_else(PoisonError::into_inner).replace(turn);
        drop(before);
        self.is_kept.store(true, Ordering::Release);
        if self.is_closed.load(Ordering::Acquire) {
            self.release_turn();
        }
    }

    /// Notes that everything has gone to the system.
    pub(super) fn release_turn(&self) {
        if self.is_kept.swap(false, Ordering::AcqRel) {
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(turn);
        }
    }

    /// Notes that the connection is closed.
    pub(super) fn note_closed(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.release_turn();
    }
}
