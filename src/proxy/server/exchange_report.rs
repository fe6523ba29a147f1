//! What became of a recorded exchange: counted, and said where that is not as it should be.

use super::notice::{OnNotice, UserNotice};
use crate::telemetry::metric::Metrics;
use crate::telemetry::run_counters::RunCounters;
use loomrec_engine::record::RecordOutcome;
use loomrec_recording::entry::ResponseEnd;

/// Counts what became of an exchange, and notifies of one that was not kept, or not whole.
pub fn report_exchange(
    exchange: &RecordOutcome,
    counters: &RunCounters,
    metrics: &Metrics,
    notify: &OnNotice,
) {
    metrics.append(exchange.append);
    let is_new_reason = counters.add_exchange(exchange);
    match (&exchange.outcome, exchange.incomplete) {
        (Ok(()), Some(end)) => notify(UserNotice::Incomplete(&incomplete(&exchange.label, end))),
        (Err(reason), _) if is_new_reason => notify(UserNotice::Unkept(reason)),
        _ => {}
    }
}

/// What to say of an exchange that was not kept whole.
fn incomplete(label: &str, end: ResponseEnd) -> String {
    let why = match end {
        ResponseEnd::Truncated => {
            "truncated: its answer is larger than the copy's limit; raise --max-copy to keep it"
        }
        _ => {
            "client_abort: its client left and the rest did not come in time; raise --drain to wait longer"
        }
    };
    format!("{label} was recorded {why}. It will not be replayed")
}
