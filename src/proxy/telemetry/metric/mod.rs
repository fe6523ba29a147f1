//! The metrics: what happened in a run as numbers that a Prometheus server scrapes.
//!
//! [`Metrics`] is counted into by calls as they are answered and end, without locks;
//! [`Metrics::scrape`] writes all of it out. What the receipt tells as well is read from
//! the [`RunCounters`](super::run_counters::RunCounters) then, so that the two never differ.
//! What a client chooses freely, such as a model's name, makes a bounded number of labels.

mod aimock;
mod collect;
mod label;
mod label_counter;
mod model;
mod text;
mod time_histogram;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::call_record::{CallRecord, SendEnd};
use super::span::SpanCounts;
use label::{ENDS, MATCHED_BY, SOURCES, STATUSES, count};
use label_counter::LabelCounter;
use loomrec_engine::CallOutcome;
use model::{ModelMetrics, ModelTable};
pub use text::{OPEN_METRICS, PLAIN, wants_open_metrics};
use time_histogram::{LONG, SHORT, TimeHistogram};

/// What is told of a run beside its numbers.
#[derive(Clone, Debug, Default)]
pub struct RunInfo {
    /// The recording's name, without its folder and ending: AgentLoom's workflow.
    pub workflow: String,
    /// Whether AgentLoom's and aimock's own names stand beside ours.
    pub compat: bool,
}

/// What a scrape tells that is counted elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrapeInput {
    /// What the run does, in a word.
    pub mode: &'static str,
    /// How many takes the run answers from.
    pub loaded: u64,
    /// Lines that the journal's file has not got.
    pub journal_lost: u64,
}

/// The numbers of a run.
#[derive(Debug)]
pub struct Metrics {
    about: RunInfo,
    /// Calls as aimock counts them, where its names stand beside ours.
    aimock: Option<aimock::AimockRequests>,
    /// By source and status; status 0 is none.
    requests: Box<[AtomicU64]>,
    replays: [AtomicU64; MATCHED_BY.len()],
    models: ModelTable,
    overhead: TimeHistogram,
    faults: LabelCounter<2>,
    triggered: LabelCounter<3>,
    bypassed: LabelCounter<4>,
    open: AtomicI64,
    ended: [AtomicU64; ENDS.len()],
    append: TimeHistogram,
    fold: TimeHistogram,
    /// What became of spans.
    pub spans: Arc<SpanCounts>,
}

impl Metrics {
    /// Those of a run in which nothing has happened yet.
    pub fn new(about: RunInfo) -> Self {
        Self {
            aimock: about.compat.then(aimock::AimockRequests::new),
            about,
            requests: (0..SOURCES.len() * STATUSES).map(|_| AtomicU64::default()).collect(),
            replays: Default::default(),
            models: ModelTable::new(),
            overhead: TimeHistogram::new(SHORT),
            faults: LabelCounter::new(),
            triggered: LabelCounter::new(),
            bypassed: LabelCounter::new(),
            open: AtomicI64::default(),
            ended: Default::default(),
            append: TimeHistogram::new(SHORT),
            fold: TimeHistogram::new(LONG),
            spans: Arc::default(),
        }
    }

    /// Adds a call that is over.
    pub fn record(&self, seen: &CallRecord) {
        if let Some(aimock) = &self.aimock {
            aimock.add(seen);
        }
        let status = seen.status.map_or(0, |status| usize::from(status.as_u16()));
        let source = seen.source() as usize;
        count(&self.requests[source * STATUSES + status.min(STATUSES - 1)]);
        if let Some(by) = seen.matched_by().and_then(|by| find(&MATCHED_BY, by)) {
            count(&self.replays[by]);
        }
        // What a fault holds up is not loomrec's own.
        if seen.status.is_some() && seen.fault.is_none() {
            self.overhead.add(seen.head.saturating_sub(seen.waited));
        }
        let tokens = seen.tokens.filter(|tokens| tokens.input + tokens.output > 0);
        let times = times(seen);
        let kept = seen.is_kept() == Some(true);
        if tokens.is_none() && times.is_none() && !kept {
            return;
        }
        let facts = &*seen.facts;
        let name = facts.model.as_deref().or(seen.answered_by());
        let model = self.models.of(facts.provider, name);
        if let Some(tokens) = tokens {
            model.input.fetch_add(tokens.input, Ordering::Relaxed);
            model.output.fetch_add(tokens.output, Ordering::Relaxed);
        }
        if let Some((first_byte, last)) = times {
            model.latency.add(last);
            first_byte.into_iter().for_each(|first_byte| model.first_byte.add(first_byte));
        }
        if kept {
            count(&model.captures);
        }
    }

    /// Adds a fault that happened.
    pub fn fault(&self, kind: &str, source: &str) {
        self.faults.add([kind, source]);
    }

    /// Adds an action of chaos that happened: where its rate was declared, and in front
    /// of what (aimock's source).
    pub fn chaos(&self, action: &str, source: &str, front: &str) {
        self.triggered.add([action, source, front]);
    }

    /// Adds an action of chaos that could not happen.
    pub fn bypass(&self, action: &str, source: &str, front: &str, reason: &str) {
        self.bypassed.add([action, source, front, reason]);
    }

    /// A stream begins.
    pub fn stream_begins(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// A stream has ended.
    pub fn stream_ends(&self, how: SendEnd) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        count(&self.ended[place(&ENDS, how.as_str())]);
    }

    /// Adds the keeping of an exchange.
    pub fn append(&self, took: Duration) {
        self.append.add(took);
    }

    /// Adds a compaction of the log into the recording.
    pub fn compaction(&self, took: Duration) {
        self.fold.add(took);
    }

    fn models(&self) -> Vec<&ModelMetrics> {
        self.models.all()
    }
}

/// How long an upstream's first byte took, and its last, counted from when it was asked.
fn times(seen: &CallRecord) -> Option<(Option<Duration>, Duration)> {
    let since = |sent: Duration| move |at: Duration| at.saturating_sub(sent);
    match seen.exchange.as_ref().map(|exchange| exchange.times) {
        Some(times) => Some((times.first.map(since(times.sent)), since(times.sent)(times.last))),
        // Nothing was kept of what went by: the client's times are the upstream's.
        None if matches!(seen.outcome, CallOutcome::Forwarded) => {
            let asked = since(seen.head.saturating_sub(seen.waited));
            Some((seen.first_byte.map(asked), asked(seen.total)))
        }
        None => None,
    }
}

fn find(words: &[&str], word: &str) -> Option<usize> {
    words.iter().position(|known| *known == word)
}

/// The place of a word among those there are; the last one's for any other.
fn place(words: &[&str], word: &str) -> usize {
    find(words, word).unwrap_or(words.len() - 1)
}

#[cfg(test)]
mod tests;
