//! What is told of calls while a run goes on: counters, metrics, the journal, spans, the log.
//!
//! All of them read the [`CallRecord`] of a call that is over, so they cannot disagree.

pub mod call_record;
pub mod journal;
pub mod log;
pub mod metric;
pub mod run_counters;
pub mod span;

use std::sync::Arc;

use call_record::CallRecord;
use journal::Journal;
use metric::Metrics;
use run_counters::RunCounters;
use span::Spans;

/// Whoever counts the calls of a run, or writes them down.
pub struct Telemetry {
    /// The counts that the receipt tells.
    pub counters: Arc<RunCounters>,
    /// The numbers that are scraped.
    pub metrics: Arc<Metrics>,
    /// A line for each call.
    pub journal: Arc<Journal>,
    /// A span for each call, where they are made.
    pub spans: Spans,
}

impl Telemetry {
    /// A call is over. What is left in the place of its record is of no use.
    pub fn record(&self, call: &mut CallRecord) {
        log::call(call);
        self.counters.record(call);
        self.metrics.record(call);
        let call = self.journal.add(call);
        self.spans.add(&call);
    }
}
