//! The connections whose clients have not sent a message yet, and the takes that these exchange.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};

use super::connection_opening::{ConnectionOpening, MessageDigest};
use super::matcher::Matcher;

/// How many entries of connections are read at one time: many connections may begin at once, and each
/// thread that reads takes memory of its own.
const READING: usize = 4;

/// The connections whose clients have not sent a message yet.
#[derive(Debug)]
pub(super) struct WaitingConnections {
    waiting: Mutex<WaitingTakes>,
    /// Notified when a connection begins to wait.
    pub(super) added: Notify,
    /// A permit is held while an entry is read.
    pub(super) reading: Semaphore,
}

impl Default for WaitingConnections {
    fn default() -> Self {
        let (waiting, added) = (Mutex::default(), Notify::new());
        Self { waiting, added, reading: Semaphore::new(READING) }
    }
}

/// Their takes.
#[derive(Debug, Default)]
pub(super) struct WaitingTakes {
    pub(super) last: u64,
    pub(super) by_number: BTreeMap<u64, WaitingTake>,
}

/// The take of a connection.
#[derive(Debug)]
pub(super) struct WaitingTake {
    pub(super) take: usize,
    pub(super) session: Option<String>,
}

impl WaitingConnections {
    pub(super) fn lock_takes(&self) -> MutexGuard<'_, WaitingTakes> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a search for a take that begins with a message.
pub(super) enum TakeChoice {
    /// The connection has this take now.
    Found(usize),
    /// All takes that begin with it are used.
    InUse,
    /// No take begins with that message.
    None,
}

impl Matcher {
    /// Finds a take that begins with this message for the connection that has `own`.
    pub(super) fn exchange_take(
        &self,
        own: &mut WaitingTake,
        first: MessageDigest,
        waiting: &mut WaitingTakes,
    ) -> TakeChoice {
        let Some(opening) = self.openings.find(own.take) else { return TakeChoice::None };
        if opening.first == Some(first) {
            return TakeChoice::Found(own.take);
        }
        let wanted = ConnectionOpening { first: Some(first), ..*opening };
        let (labels, home) = (self.takes[own.take].under, self.homes[own.take]);
        let fits = |take: &usize| {
            let other = &self.takes[*take];
            self.openings.find(*take) == Some(&wanted)
                && other.under == labels
                && other.servable
                && !other.is_undelivered()
        };
        let session = own.session.as_deref();
        let mut choice = TakeChoice::None;
        let takes = self.groups[home as usize].takes().iter().map(|take| *take as usize);
        for take in takes.filter(fits) {
            if self.claim_take(take, session) {
                self.release_take(own.take, session);
                return TakeChoice::Found(take);
            }
            let mut others = waiting.by_number.values_mut();
            let is_it = |it: &&mut WaitingTake| it.take == take && it.session.as_deref() == session;
            if let Some(other) = others.find(is_it) {
                other.take = own.take;
                return TakeChoice::Found(take);
            }
            choice = TakeChoice::InUse;
        }
        choice
    }
}
