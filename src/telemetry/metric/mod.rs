//! The metrics: numbers about a run that a Prometheus server scrapes.
//!
//! Calls count into [`Metrics`] when they are answered and when they end, without locks.
//! [`Metrics::scrape`] writes everything out. What the receipt reports too is read from the
//! [`RunCounters`] at that time, so that the two never differ.
//! Values that a client chooses freely, such as a model's name, make a bounded number of labels.

mod collect;
mod label;
mod label_counter;
mod metric_families;
mod model;
mod remote_counts;
mod route_counts;
mod text;
mod time_histogram;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::call_record::{CallRecord, SendEnd};
use super::run_counters::RunCounters;
use super::span::SpanCounts;
use label::{ANSWERS, ENDS, MATCHED_BY, SOURCES, STATUSES, add_one};
use label_counter::LabelCounter;
use loomrec_engine::CallOutcome;
use model::{ModelMetrics, ModelTable};
pub use remote_counts::RemoteCounts;
use route_counts::RouteCounts;
pub use text::{OPEN_METRICS, PLAIN, wants_open_metrics};
use time_histogram::{LONG, SHORT, TimeHistogram};

/// Facts about a run that accompany its numbers.
#[derive(Clone, Debug, Default)]
pub struct RunInfo {
    /// The recording's name without folder and extension: the workflow of calls that name none.
    pub workflow: String,
    /// Whether metrics are also written under the names of other tools.
    pub compat: bool,
}

/// Values for a scrape that are counted elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrapeInput {
    /// The mode of the run, in one word.
    pub mode: &'static str,
    /// The number of takes that the run answers from.
    pub loaded: u64,
    /// The number of rules of the run's script.
    pub rules: u64,
    /// The number of lines that are missing from the journal's file.
    pub journal_lost: u64,
    /// The sessions of the server, if it has any.
    pub sessions: Option<ScrapedSessions>,
}

/// The numbers of a server's sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrapedSessions {
    /// How many are open.
    pub open: u64,
    /// How many have begun.
    pub begun: u64,
    /// How many have ended.
    pub ended: u64,
    /// How many of them ended because they had no call for too long.
    pub expired: u64,
    /// How many were refused.
    pub refused: u64,
}

/// The metrics of a run.
#[derive(Debug)]
pub struct Metrics {
    about: RunInfo,
    /// Calls by route, if metrics are also written under other names.
    routes: Option<RouteCounts>,
    /// Requests by source and status. Status 0 means no status.
    requests: Box<[AtomicU64]>,
    replays: [AtomicU64; MATCHED_BY.len()],
    /// Those of them whose calls name a workflow, by its name.
    named_replays: [LabelCounter<1>; MATCHED_BY.len()],
    /// Recorded and served answers by outcome.
    answers: [AtomicU64; ANSWERS.len()],
    models: ModelTable,
    overhead: TimeHistogram,
    /// Faults by type, source, and the workflow that their call names.
    faults: LabelCounter<3>,
    triggered: LabelCounter<3>,
    bypassed: LabelCounter<4>,
    open: AtomicI64,
    ended: [AtomicU64; ENDS.len()],
    append: TimeHistogram,
    fold: TimeHistogram,
    /// How often the server has read its certificate or recordings again, and failed to.
    reloads: [AtomicU64; 2],
    /// The counts of spans.
    pub spans: Arc<SpanCounts>,
    /// The counts of an object store.
    pub remote: Arc<RemoteCounts>,
}

impl Metrics {
    /// Creates the metrics of a new run.
    pub fn new(about: RunInfo) -> Self {
        Self {
            routes: about.compat.then(RouteCounts::new),
            about,
            requests: (0..SOURCES.len() * STATUSES).map(|_| AtomicU64::default()).collect(),
            replays: Default::default(),
            named_replays: std::array::from_fn(|_| LabelCounter::new()),
            answers: Default::default(),
            models: ModelTable::new(),
            overhead: TimeHistogram::new(SHORT),
            faults: LabelCounter::new(),
            triggered: LabelCounter::new(),
            bypassed: LabelCounter::new(),
            open: AtomicI64::default(),
            ended: Default::default(),
            append: TimeHistogram::new(SHORT),
            fold: TimeHistogram::new(LONG),
            reloads: Default::default(),
            spans: Arc::default(),
            remote: Arc::default(),
        }
    }

    /// Counts an attempt to read the certificate and the recordings again.
    pub fn note_reload(&self, is_read: bool) {
        add_one(&self.reloads[usize::from(!is_read)]);
    }

    /// Whether the run also speaks the words of other tools.
    pub fn is_compat(&self) -> bool {
        self.about.compat
    }

    /// Adds a call that is over.
    pub fn record_call(&self, seen: &CallRecord) {
        if let Some(routes) = &self.routes {
            routes.add_call(seen);
        }
        let status = seen.status.map_or(0, |status| usize::from(status.as_u16()));
        let source = seen.answer_source() as usize;
        add_one(&self.requests[source * STATUSES + status.min(STATUSES - 1)]);
        if let Some(by) = seen.matched_by().and_then(|by| find_word(&MATCHED_BY, by)) {
            add_one(&self.replays[by]);
            if let Some(workflow) = &seen.workflow {
                self.named_replays[by].add([workflow]);
            }
        }
        if let Some(outcome) = seen.answer_outcome() {
            add_one(&self.answers[outcome as usize]);
        }
        // The delay of a fault does not count as loomrec's own time.
        if seen.status.is_some() && seen.fault.is_none() {
            self.overhead.add(seen.head.saturating_sub(seen.waited));
        }
        let tokens = seen.tokens.filter(|tokens| !tokens.is_empty());
        let times = upstream_times(seen);
        let kept = seen.is_kept() == Some(true);
        if tokens.is_none() && times.is_none() && !kept {
            return;
        }
        let facts = &*seen.facts;
        let name = facts.rpc.as_deref().or(facts.model.as_deref()).or(seen.answered_by());
        let model = self.models.for_model(facts.provider, name);
        if let Some(tokens) = tokens {
            RunCounters::add_count(&model.input, tokens.input);
            RunCounters::add_count(&model.output, tokens.output);
        }
        if let Some((first_byte, last)) = times {
            model.latency.add(last);
            first_byte.into_iter().for_each(|first_byte| model.first_byte.add(first_byte));
        }
        if kept {
            add_one(&model.captures);
        }
    }

    /// Adds a fault that happened to a call of this workflow, if it names one.
    pub fn count_fault(&self, kind: &str, source: &str, workflow: Option<&str>) {
        self.faults.add([kind, source, workflow.unwrap_or_default()]);
    }

    /// Adds a chaos action that happened: where its rate was declared, and what would have answered
    /// the call.
    pub fn count_chaos(&self, action: &str, source: &str, front: &str) {
        self.triggered.add([action, source, front]);
    }

    /// Adds a chaos action that could not happen.
    pub fn count_bypass(&self, action: &str, source: &str, front: &str, reason: &str) {
        self.bypassed.add([action, source, front, reason]);
    }

    /// Notes that a stream begins.
    pub fn stream_begins(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a stream has ended.
    pub fn stream_ends(&self, how: SendEnd) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        add_one(&self.ended[word_index(&ENDS, how.as_str())]);
    }

    /// Adds the time that it took to store an exchange.
    pub fn add_append_time(&self, took: Duration) {
        self.append.add(took);
    }

    /// Adds a compaction of the log into the recording.
    pub fn add_compaction_time(&self, took: Duration) {
        self.fold.add(took);
    }

    fn all_models(&self) -> Vec<&ModelMetrics> {
        self.models.all_models()
    }
}

/// Returns how long an upstream took until its first byte and its last, from when the request was
/// sent.
fn upstream_times(seen: &CallRecord) -> Option<(Option<Duration>, Duration)> {
    let since = |sent: Duration| move |at: Duration| at.saturating_sub(sent);
    match seen.exchange.as_ref().map(|exchange| exchange.times) {
        Some(times) => Some((times.first.map(since(times.sent)), since(times.sent)(times.last))),
        // Nothing was kept of a forwarded call: the client's times are taken as the upstream's.
        None if matches!(seen.outcome, CallOutcome::Forwarded) => {
            let asked = since(seen.head.saturating_sub(seen.waited));
            Some((seen.first_byte.map(asked), asked(seen.total)))
        }
        None => None,
    }
}

fn find_word(words: &[&str], word: &str) -> Option<usize> {
    words.iter().position(|known| *known == word)
}

/// Returns the index of a word, or of the last word if it is unknown.
fn word_index(words: &[&str], word: &str) -> usize {
    find_word(words, word).unwrap_or(words.len() - 1)
}

#[cfg(test)]
mod tests;
