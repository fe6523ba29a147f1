//! Reports of recorded exchanges: counted, with a notice if one was not kept in full.

use super::notice::{OnNotice, UserNotice};
use loomrec_engine::record::RecordOutcome;
use loomrec_recording::entry::ResponseEnd;
use loomrec_telemetry::metric::Metrics;
use loomrec_telemetry::run_counters::RunCounters;

/// Counts the outcome of an exchange. Sends a notice if it was not kept, or not in full.
pub fn report_exchange(
    exchange: &RecordOutcome,
    counters: &RunCounters,
    metrics: &Metrics,
    notify: &OnNotice,
) {
    metrics.add_append_time(exchange.append);
    let is_new_reason = counters.add_exchange(exchange);
    match (&exchange.outcome, exchange.incomplete) {
        (Ok(()), Some(end)) => {
            notify(UserNotice::Incomplete(&incomplete_notice(&exchange.label, end)))
        }
        (Err(reason), _) if is_new_reason => notify(UserNotice::Unkept(reason)),
        _ => {}
    }
}

/// Returns the notice for an exchange that was not kept in full.
fn incomplete_notice(label: &str, end: ResponseEnd) -> String {
    let why = match end {
        ResponseEnd::Truncated => {
            "truncated: its answer is larger than the copy's limit; raise --max-body to keep it"
        }
        _ => {
            "client_abort: its client left and the rest did not come in time; raise --drain to wait longer"
        }
    };
    format!("{label} was recorded {why}. It will not be replayed")
}
