//! The sink of explained misses: the inspector's list of recent ones, and the pending file.

use std::sync::Arc;

use super::notice::{OnNotice, UserNotice};
use crate::inspector::RecentMisses;
use loomrec_engine::OnExplainedMiss;
use loomrec_engine::clock::timestamp_of;
use loomrec_engine::replay::MissedRequests;

/// Returns a callback that keeps explained misses in `recent`, and in `missed` if they are to be
/// sent again.
pub fn miss_sink(
    recent: Arc<RecentMisses>,
    missed: Option<Arc<MissedRequests>>,
    notify: OnNotice,
) -> OnExplainedMiss {
    Arc::new(move |miss| {
        recent.keep(miss.arrived_at, miss.observed);
        let Some(missed) = &missed else { return };
        let recorded_at = timestamp_of(miss.arrived_at, missed.place_in_run());
        if let Err(error) = missed.add_request(miss.observed, miss.secrets, miss.error, recorded_at)
        {
            let text = format!("a missed request is not kept: failed to {}", error.error_chain());
            notify(UserNotice::Warning(&text));
        }
    })
}
