//! Telemetry of a run: counters, metrics, the journal, spans and the log.
//!
//! All of them read the [`CallRecord`] of a call that is over, so they cannot disagree.

pub mod bound_counts;
pub mod call_record;
pub mod compat_journal;
mod counter_detail;
pub mod journal;
pub mod journaled_request;
pub mod log;
pub mod metric;
pub mod run_counters;
mod session_calls;
pub mod span;

use std::sync::Arc;

use call_record::CallRecord;
use compat_journal::CompatJournal;
use journal::Journal;
use metric::Metrics;
use run_counters::RunCounters;
pub use session_calls::SessionCalls;
use span::Spans;

/// Counts the calls of a run and writes them down.
pub struct Telemetry {
    /// The counts that the receipt reports.
    pub counters: Arc<RunCounters>,
    /// The counts of the run, if this is the telemetry of one of its sessions.
    pub run_counters: Option<Arc<RunCounters>>,
    /// The counts that the sessions of a run add up in, if `counters` does not include them.
    pub session_counters: Option<Arc<RunCounters>>,
    /// The calls of the session, if this is the telemetry of a session.
    pub session_calls: Option<SessionCalls>,
    /// The metrics that are scraped.
    pub metrics: Arc<Metrics>,
    /// The journal, with a line for each call.
    pub journal: Arc<Journal>,
    /// The journal in another tool's shape. Empty unless the run speaks its words.
    pub compat: CompatJournal,
    /// The spans, one for each call, if tracing is on.
    pub spans: Arc<Spans>,
}

impl Telemetry {
    /// Records a call that is over. What is left in `call` is of no use.
    pub fn record_call(&self, call: &mut CallRecord) {
        call.run_session = self.session_calls.as_ref().map(|calls| Arc::clone(&calls.session));
        log::note_call(call);
        self.counters.record_call(call);
        self.run_counters.iter().for_each(|run| run.record_call(call));
        self.metrics.record_call(call);
        let call = self.journal.add_call(call);
        self.spans.add(&call);
        if let Some(calls) = &self.session_calls {
            calls.add_call(call);
        }
    }
}
