//! The job of recording one exchange, and its callbacks.

use std::sync::Arc;
use std::time::Instant;

use super::cost_limit::CostReserve;
use super::record_outcome::RecordOutcome;
use loomrec_identity::{RequestKey, RunValueFinder};
use loomrec_recording::EntryName;
use loomrec_recording::entry::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;

/// What is recorded of a request, and under which name.
#[derive(Debug)]
pub struct RecordJob {
    /// The request as it is stored.
    pub observed: NormalizedRequest,
    /// Its key.
    pub key: RequestKey,
    /// The name it is stored under.
    pub name: EntryName,
    /// The credentials it carried. None of them may be stored.
    pub secrets: Arc<CallCredentials>,
    /// When it arrived. Times in the recording count from here.
    pub arrived: Instant,
    /// The same moment as text: RFC 3339, UTC, unique in the run.
    pub recorded_at: String,
    /// The scheme, host and port that it is sent to, unless that is the upstream's public address.
    pub upstream_origin: Option<String>,
    /// The values of its run. Those that are in the request are stored with it.
    pub run_values: Arc<RunValueFinder>,
    /// Decides whether the exchange is stored; `None` if every exchange is.
    pub keeps: Option<KeepFilter>,
    /// Callback for the outcome of this exchange. It is called before the client gets the end of
    /// the answer.
    pub on_recorded: OnRecorded,
}

/// Decides whether one exchange is stored. It is called with the redacted entry when the exchange
/// is over, and may add to it. If it returns `false`, the exchange is not stored.
pub struct KeepFilter(Box<dyn FnOnce(&mut Entry) -> bool + Send + Sync>);

impl KeepFilter {
    /// Returns a filter that calls `keeps`.
    pub fn new(keeps: impl FnOnce(&mut Entry) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(keeps))
    }

    pub(super) fn keeps_entry(self, entry: &mut Entry) -> bool {
        (self.0)(entry)
    }
}

impl std::fmt::Debug for KeepFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeepFilter")
    }
}

/// Callback for the outcome of one exchange. It is called once: with `None`, on drop, if there is
/// no outcome.
pub struct OnRecorded(Option<OutcomeReport>);

type OutcomeReport = Box<dyn FnOnce(Option<RecordOutcome>) + Send + Sync>;

impl OnRecorded {
    /// Returns a callback that calls `report`.
    pub fn new(report: impl FnOnce(Option<RecordOutcome>) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(report)))
    }

    /// Returns the same callback, which settles what was set aside for the call first.
    pub(crate) fn with_cost_reserve(self, reserve: Option<CostReserve>) -> Self {
        let Some(reserve) = reserve else { return self };
        Self::new(move |outcome| {
            if let Some(outcome) = &outcome {
                reserve.settle(outcome.cost_usd);
            }
            self.report_once(outcome);
        })
    }

    fn report_once(mut self, outcome: Option<RecordOutcome>) {
        if let Some(report) = self.0.take() {
            report(outcome);
        }
    }

    pub(super) fn report_outcome(self, outcome: RecordOutcome) {
        self.report_once(Some(outcome));
    }
}

impl Drop for OnRecorded {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|report| report(None));
    }
}

impl std::fmt::Debug for OnRecorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnRecorded")
    }
}
