//! The account of one call, from its arrival until all that belongs to it is over: its
//! answer sent, and its exchange kept.
//!
//! Whoever learns something of the call writes it down here. Once nobody holds the
//! account any more, the call is over, and its facts go to [`Gateway::over`].
//!
//! [`Gateway::over`]: super::Gateway

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::Value;

use super::caller::Caller;
use super::seen::{Ending, Facts, More, Seen};
use crate::replay::Answered;

/// The account of one call.
pub(super) struct Account {
    caller: Arc<Caller>,
    arrived: Instant,
    seen: Mutex<Seen>,
}

impl Account {
    /// Opens the account of a call.
    pub(super) fn new(
        caller: &Arc<Caller>,
        (arrived, at): (Instant, i64),
        facts: Arc<Facts>,
    ) -> Arc<Self> {
        let seen = Mutex::new(Seen::new(at, facts, caller.gateway.mode()));
        Arc::new(Self { caller: Arc::clone(caller), arrived, seen })
    }

    /// Writes something down.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a span is made of the call.
    pub(super) fn makes_spans(&self) -> bool {
        self.caller.gateway.spans.is_on()
    }

    /// Writes down what the call was answered with, just now.
    pub(super) fn note(
        &self,
        outcome: &'static str,
        status: Option<StatusCode>,
        more: More,
        fault: Option<Arc<Value>>,
    ) {
        let head = self.elapsed();
        let mut seen = self.seen();
        (seen.outcome, seen.status, seen.head, seen.more) = (outcome, status, head, more);
        seen.fault = fault;
    }

    /// Writes down what a take answers.
    pub(super) fn serve(&self, answered: &Answered) {
        let mut seen = self.seen();
        (seen.matched_by, seen.take) = (Some(answered.by.as_str()), Some(answered.take));
        seen.hit = Some(answered.index);
        seen.tell(answered.usage.prompt_tokens, answered.usage.completion_tokens);
        seen.cost_usd = Some(answered.cost_usd);
    }

    /// How long ago the call arrived.
    pub(super) fn elapsed(&self) -> Duration {
        self.arrived.elapsed()
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let seen = self.seen.get_mut().unwrap_or_else(PoisonError::into_inner);
        if seen.total.is_zero() {
            // No answer was sent.
            seen.total = self.arrived.elapsed();
            if self.caller.connection.is_cut() {
                seen.end = Ending::Aborted;
            }
        }
        // Nobody reads what is left in its place.
        let rest = Seen::new(seen.at, Arc::clone(&seen.facts), seen.mode);
        self.caller.gateway.over(std::mem::replace(seen, rest));
    }
}

/// What of an answer has been sent.
pub(super) struct Sent {
    account: Arc<Account>,
    /// The length of the body, where it is known.
    length: Option<u64>,
    /// Whether it has no body by its nature: none of it is asked for.
    bodiless: bool,
    bytes: u64,
    chunks: u64,
    first: Option<Duration>,
    pub(super) over: bool,
    pub(super) cut: bool,
}

impl Sent {
    /// Nothing, of an answer whose body has this length.
    pub(super) fn new(account: Arc<Account>, status: StatusCode, length: Option<u64>) -> Self {
        let facts = Arc::clone(&account.seen().facts);
        let bodiless = matches!(status.as_u16(), 204 | 304) || facts.method == "HEAD";
        if facts.streamed {
            account.caller.gateway.metrics.stream_begins();
        }
        let (over, cut) = (length == Some(0), false);
        Self { account, length, bodiless, bytes: 0, chunks: 0, first: None, over, cut }
    }

    /// A piece of this many bytes is on its way.
    pub(super) fn add(&mut self, bytes: usize) {
        if bytes > 0 {
            self.first.get_or_insert_with(|| self.account.elapsed());
            self.bytes += bytes as u64;
            self.chunks += 1;
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let total = self.account.elapsed().max(Duration::from_nanos(1));
        let all = self.over || self.bodiless || self.length == Some(self.bytes);
        let mut seen = self.account.seen();
        (seen.bytes, seen.chunks, seen.first_byte) = (self.bytes, self.chunks, self.first);
        seen.total = total;
        seen.end = match all {
            _ if self.cut => Ending::Aborted,
            true => Ending::Complete,
            false if self.account.caller.connection.is_cut() => Ending::Aborted,
            false => Ending::ClientLeft,
        };
        if seen.facts.streamed {
            self.account.caller.gateway.metrics.stream_ends(seen.end);
        }
    }
}
