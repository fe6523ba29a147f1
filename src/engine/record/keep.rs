//! The end of an exchange: it is made an entry, stored, and reported.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::active_exchange::ActiveExchange;
use super::capture::{ExchangeCapture, FinishedExchange};
use super::delivery_gauge::DeliveryGauge;
use super::record_outcome::RecordOutcome;
use crate::blocking;
use loomrec_recording::entry::{Entry, ResponseEnd};
use loomrec_recording::timestamp::{format_timestamp, parse_micros};
use loomrec_store::LogItem;

/// Returns the time now, measured from the arrival of the request of `entry`.
fn end_time(entry: &Entry, arrived: Instant) -> Option<String> {
    let recorded_at = parse_micros(entry.recorded_at.as_deref()?)?;
    Some(format_timestamp(recorded_at + i64::try_from(arrived.elapsed().as_micros()).ok()?))
}

/// Hands the exchange to the writer, then reports the outcome.
pub(super) async fn store_and_report(
    mut capture: ExchangeCapture,
    end: ResponseEnd,
    busy: &ActiveExchange,
    delivery: &Arc<DeliveryGauge>,
) {
    let shared = &busy.shared;
    let secrets = capture.secrets();
    let keeps = capture.take_keeps();
    let finished = match blocking::is_large(capture.byte_size()) {
        false => capture.into_finished_exchange(end, shared, delivery),
        true => {
            let (shared, delivery) = (Arc::clone(shared), Arc::clone(delivery));
            blocking::run_blocking(move || capture.into_finished_exchange(end, &shared, &delivery))
                .await
        }
    };
    let FinishedExchange { entry, kept, arrived, on_recorded } = finished;
    let Some((name, mut entry, form)) = entry else {
        on_recorded.report_outcome(kept);
        return;
    };
    // Requests that loomrec sends itself come in no order of a program.
    let is_of_program = keeps.is_none();
    if keeps.is_some_and(|keeps| !keeps.keeps_entry(&mut entry)) {
        return;
    }
    // Its client gets the end after this.
    if busy.end_answer() && is_of_program {
        entry.ended_at = end_time(&entry, arrived);
    }
    if !entry.run_values.is_empty() {
        shared.has_run_values.store(true, Ordering::Relaxed);
    }
    let alone = shared.busy.load(Ordering::Relaxed) <= 1;
    let began = Instant::now();
    let is_failure = Some(kept.is_failure());
    let form = is_of_program.then_some(form);
    let item = LogItem { name, entry, secrets, is_failure, form };
    let outcome = shared.writer.store_exchange(item, alone).await;
    let kept = RecordOutcome { outcome, append: began.elapsed(), ..kept };
    on_recorded.report_outcome(kept);
}
