//! Collects what is learned of one call, from its arrival until its answer is sent and its
//! exchange is kept.
//!
//! Each part of the server writes into the tracker what it learns. The call is over when no
//! part holds the tracker any more: its record then goes to [`Proxy::call_over`].
//!
//! [`Proxy::call_over`]: super::Proxy

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::Value;

use super::connection_context::ConnectionContext;
use crate::recording::redact::CallCredentials;
use crate::replay::ReplayAnswer;
use crate::telemetry::call_record::{CallRecord, OutcomeDetail, RequestSummary, SendEnd};
use crate::telemetry::span::parent::ParentSpan;

/// Counts the tries of a call, from 0.
const RETRIES: HeaderName = HeaderName::from_static("x-stainless-retry-count");

/// Collects what is learned of one call.
pub(super) struct CallTracker {
    caller: Arc<ConnectionContext>,
    arrived: Instant,
    /// Whether the call asks for a stream.
    streamed: bool,
    /// Whether it asks for a head only.
    headless: bool,
    seen: Mutex<CallRecord>,
}

impl CallTracker {
    /// Begins to track a call.
    pub(super) fn new(
        caller: &Arc<ConnectionContext>,
        (arrived, at): (Instant, i64),
        facts: Arc<RequestSummary>,
        headers: &HeaderMap,
        secrets: &CallCredentials,
    ) -> Arc<Self> {
        let proxy = &*caller.proxy;
        let (streamed, headless) = (facts.streamed, facts.method == "HEAD");
        let attempt = attempt(headers);
        let parent =
            if proxy.telemetry.spans.is_on() { ParentSpan::of(headers, secrets) } else { None };
        let parent = parent.map(Box::new);
        let seen = CallRecord { attempt, parent, ..CallRecord::new(at, facts, proxy.mode()) };
        let (caller, seen) = (Arc::clone(caller), Mutex::new(seen));
        Arc::new(Self { caller, arrived, streamed, headless, seen })
    }

    /// Writes something down.
    pub(super) fn write(&self, work: impl FnOnce(&mut CallRecord)) {
        work(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Writes down what the call was answered with, just now.
    pub(super) fn set_outcome(
        &self,
        outcome: &'static str,
        status: Option<StatusCode>,
        more: OutcomeDetail,
        fault: Option<Arc<Value>>,
    ) {
        let head = self.elapsed();
        self.write(|seen| {
            (seen.outcome, seen.status, seen.head, seen.more) = (outcome, status, head, more);
            seen.fault = fault;
        });
    }

    /// Writes down what a take answers.
    pub(super) fn serve(&self, answered: &ReplayAnswer) {
        self.write(|seen| {
            (seen.matched_by, seen.take) = (Some(answered.by.as_str()), Some(answered.take));
            seen.hit = Some(answered.index);
            seen.set_tokens(answered.usage.prompt_tokens, answered.usage.completion_tokens);
            seen.cost_usd = Some(answered.cost_usd);
        });
    }

    /// How long ago the call arrived.
    pub(super) fn elapsed(&self) -> Duration {
        self.arrived.elapsed()
    }
}

impl Drop for CallTracker {
    fn drop(&mut self) {
        let seen = self.seen.get_mut().unwrap_or_else(PoisonError::into_inner);
        if seen.total.is_zero() {
            // No answer was sent.
            seen.total = self.arrived.elapsed();
            if self.caller.connection.is_cut() {
                seen.end = SendEnd::Aborted;
            }
        }
        self.caller.proxy.call_over(seen);
    }
}

/// Which try of a call this is, where its SDK tells.
fn attempt(headers: &HeaderMap) -> Option<u64> {
    let retries: u32 = headers.get(RETRIES)?.to_str().ok()?.parse().ok()?;
    Some(u64::from(retries) + 1)
}

/// What of an answer has been sent.
pub(super) struct SentProgress {
    account: Arc<CallTracker>,
    /// The length of the body, where it is known.
    length: Option<u64>,
    /// Whether it has no body by its nature: none of it is asked for.
    bodiless: bool,
    bytes: u64,
    chunks: u64,
    first: Option<Duration>,
    /// When all of it was, where that is so.
    total: Option<Duration>,
    pub(super) cut: bool,
}

impl SentProgress {
    /// Nothing, of an answer whose body has this length.
    pub(super) fn new(account: Arc<CallTracker>, status: StatusCode, length: Option<u64>) -> Self {
        let bodiless = account.headless || matches!(status.as_u16(), 204 | 304);
        if account.streamed {
            account.caller.proxy.telemetry.metrics.stream_begins();
        }
        let (first, total) = (None, None);
        Self { account, length, bodiless, bytes: 0, chunks: 0, first, total, cut: false }
    }

    /// A piece of this many bytes is on its way; behind the last one comes nothing.
    pub(super) fn add(&mut self, bytes: usize, last: bool) {
        let is_first = bytes > 0 && self.first.is_none();
        let now = (is_first || last).then(|| self.account.elapsed());
        if bytes > 0 {
            self.first = self.first.or(now);
            self.bytes += bytes as u64;
            self.chunks += 1;
        }
        if last {
            self.total = self.total.or(now);
        }
    }
}

impl Drop for SentProgress {
    fn drop(&mut self) {
        let account = &*self.account;
        let over = self.total.is_some() || self.length.is_some_and(|all| all == self.bytes);
        let total = self.total.unwrap_or_else(|| account.elapsed()).max(Duration::from_nanos(1));
        let end = match over || self.bodiless {
            _ if self.cut => SendEnd::Aborted,
            true => SendEnd::Complete,
            false if account.caller.connection.is_cut() => SendEnd::Aborted,
            false => SendEnd::ClientLeft,
        };
        account.write(|seen| {
            (seen.bytes, seen.chunks, seen.first_byte) = (self.bytes, self.chunks, self.first);
            (seen.total, seen.end) = (total, end);
        });
        if account.streamed {
            account.caller.proxy.telemetry.metrics.stream_ends(end);
        }
    }
}
