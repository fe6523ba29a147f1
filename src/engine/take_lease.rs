//! Leases of what answers a call: a take, or a call or a rule of the script.
//!
//! A take answers one call of a session. [`Engine::find_answer`] uses the take up, and
//! gives a lease of it, which has three ends: the call consumes the take, gives it back, or keeps it
//! until it is known what the client gets.

use std::sync::Arc;

use crate::Engine;
use crate::replay::ReplayEngine;
use loomrec_script::ScriptTurn;

/// The lease of the take that was found for a call. A lease that is dropped gives the take back.
#[must_use = "a lease that is dropped gives the take back"]
pub struct TakeLease<'a> {
    replay: &'a Arc<ReplayEngine>,
    session: Option<&'a str>,
    take: usize,
    /// Whether the take is given back when the lease is dropped.
    is_open: bool,
}

impl<'a> TakeLease<'a> {
    /// Creates the lease of a take that a call of this session has just used up.
    pub(super) fn new(
        replay: &'a Arc<ReplayEngine>,
        session: Option<&'a str>,
        take: usize,
    ) -> Self {
        Self { replay, session, take, is_open: true }
    }

    /// Leaves the take used up, even if the lease is dropped. It can still be released: what was to
    /// use the take up may fail.
    pub fn consume(&mut self) {
        self.is_open = false;
    }

    /// Gives the take back, so that the session can get it again.
    pub fn release(mut self) {
        self.is_open = true;
    }

    /// Keeps the take used up until it is known what the client gets.
    pub fn keep_for_delay(mut self) -> KeptLease {
        self.is_open = false;
        KeptLease {
            replay: Arc::clone(self.replay),
            session: self.session.map(Box::from),
            answer: LeaseSource::Take(self.take),
            is_held: true,
        }
    }
}

impl Drop for TakeLease<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.replay.release_take(self.take, self.session);
        }
    }
}

/// The lease of what answers a call, kept until it is known what the client gets. A lease that is
/// dropped gives back what it holds.
#[must_use = "a lease that is dropped gives back what it holds"]
pub struct KeptLease {
    replay: Arc<ReplayEngine>,
    session: Option<Box<str>>,
    answer: LeaseSource,
    /// Whether the answer is used up. Otherwise it is lent to other calls.
    is_held: bool,
}

impl Engine {
    /// Returns the lease of what has just answered a call of this session from the script.
    pub fn lease_scripted(&self, session: Option<&str>, turn: ScriptTurn) -> Option<KeptLease> {
        let (replay, answer) = (Arc::clone(self.replay_engine()?), LeaseSource::Scripted(turn));
        Some(KeptLease { replay, session: session.map(Box::from), answer, is_held: true })
    }
}

/// What a lease is of.
enum LeaseSource {
    /// The index of a take in its matcher.
    Take(usize),
    /// A call or a rule of the script.
    Scripted(ScriptTurn),
}

impl KeptLease {
    /// Gives the answer back for now: the session can get it while a fault keeps this client from
    /// getting it.
    #[must_use = "a lease that is dropped gives back what it holds"]
    pub fn lend_answer(mut self) -> Self {
        self.give_back();
        self
    }

    /// Uses up again what was lent, unless another call has it by now.
    pub fn reclaim(&mut self) {
        if std::mem::replace(&mut self.is_held, true) {
            return;
        }
        let session = self.session.as_deref();
        match &self.answer {
            LeaseSource::Take(take) => self.replay.consume_take(*take, session),
            LeaseSource::Scripted(turn) => {
                self.replay
                    .script()
                    .into_iter()
                    .for_each(|script| script.consume_turn(session, turn));
            }
        }
    }

    /// Leaves the answer used up.
    pub fn consume(mut self) {
        self.reclaim();
        self.is_held = false;
    }

    /// Gives the answer back.
    pub fn release(self) {
        drop(self);
    }

    fn give_back(&mut self) {
        if !std::mem::replace(&mut self.is_held, false) {
            return;
        }
        let session = self.session.as_deref();
        match &self.answer {
            LeaseSource::Take(take) => self.replay.release_take(*take, session),
            LeaseSource::Scripted(turn) => {
                self.replay
                    .script()
                    .into_iter()
                    .for_each(|script| script.release_turn(session, turn));
            }
        }
    }
}

impl Drop for KeptLease {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
#[path = "take_lease_tests.rs"]
mod tests;
