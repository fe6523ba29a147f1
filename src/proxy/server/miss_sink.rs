//! Where explained misses go: to whoever looks at the run, and into a file of missed requests.

use std::sync::Arc;

use super::notice::{OnNotice, UserNotice};
use crate::inspector::RecentMisses;
use loomrec_engine::OnExplainedMiss;
use loomrec_engine::clock::timestamp_of;
use loomrec_engine::replay::MissedRequests;

/// Keeps explained misses in `recent`, and in `missed` where they are to be sent again.
pub fn miss_sink(
    recent: Arc<RecentMisses>,
    missed: Option<Arc<MissedRequests>>,
    notify: OnNotice,
) -> OnExplainedMiss {
    Arc::new(move |miss| {
        recent.keep(miss.arrived_at, &miss.observed.request);
        let Some(missed) = &missed else { return };
        let recorded_at = timestamp_of(miss.arrived_at, missed.place());
        if let Err(error) = missed.add(miss.observed, miss.secrets, miss.error, recorded_at) {
            let text = format!("a missed request is not kept: failed to {}", error.chain());
            notify(UserNotice::Warning(&text));
        }
    })
}
