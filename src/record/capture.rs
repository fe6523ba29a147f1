//! The copy of one exchange: collects chunks with their times and turns them
//! into an entry, freed of secrets, when the exchange is over.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;

use super::{Job, Shared, Verdict};
use crate::recording::EntryName;
use crate::recording::body::Chunk;
use crate::recording::entry::{End, Entry};
use crate::recording::exchange::{Exchange, Maker, Reply};
use crate::recording::redact::Secrets;

/// The copy of one exchange, still being made.
pub struct Capture {
    job: Job,
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Chunk>,
    size: usize,
    max: usize,
    over: bool,
}

impl Capture {
    /// Starts the copy of the response whose head is `parts`.
    pub fn new(job: Job, parts: &Parts, max: usize) -> Self {
        let headers = header_list(&parts.headers);
        let status = parts.status.as_u16();
        Self { job, status, headers, chunks: Vec::new(), size: 0, max, over: false }
    }

    /// Adds a chunk that arrived just now. Past the limit the whole copy is dropped.
    pub fn add(&mut self, data: Bytes) {
        self.size += data.len();
        if self.over || self.size > self.max {
            self.over = true;
            self.chunks = Vec::new();
            return;
        }
        self.chunks.push(Chunk { at_ms: millis_since(self.job.arrived), data });
    }

    /// The credentials that the request carried.
    pub(super) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.job.secrets)
    }

    /// Who has a say in whether the exchange is kept.
    pub(super) fn take_verdict(&mut self) -> Option<Verdict> {
        self.job.verdict.take()
    }

    /// Whether every chunk so far is still held by the copy.
    pub fn is_whole(&self) -> bool {
        !self.over
    }

    /// The name to keep the exchange under, the entry, and what it cost, where the
    /// price is known: the entry alone does not tell an unknown price from none.
    pub(super) fn finish(self, end: End, shared: &Shared) -> (EntryName, Entry, Option<f64>) {
        let Self { job, status, headers, chunks, max, over, .. } = self;
        let latency_ms = Some(millis_since(job.arrived));
        let exchange = Exchange {
            observed: job.observed,
            key: job.key,
            secrets: job.secrets,
            recorded_at: Some(job.recorded_at),
            latency_ms,
            reply: Reply { status, headers, chunks, over, end },
        };
        let (redactor, prices) = (&*shared.redactor, &shared.config.prices);
        let (entry, cost) = Maker { redactor, prices, max }.entry(exchange);
        (job.name, entry, cost)
    }
}

/// Milliseconds from `start` to now.
fn millis_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

/// Headers as a list, names in lower case; a value that is not UTF-8 keeps what is.
pub fn header_list(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}
