//! The labels that are counted by place, and how they are counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// The source of a miss and of a refusal.
pub(super) const OURSELVES: &str = "loomrec";

/// Where answers come from, in the order of [`AnswerSource`](loomrec_engine::AnswerSource).
pub(super) const SOURCES: [&str; 6] =
    ["recording", "upstream", "script", "default", "fault", OURSELVES];

/// By what an answer that was not live was found.
pub(super) const MATCHED_BY: [&str; 4] = ["step_id", "request_hash", "script", "default"];

/// How streams end.
pub(super) const ENDS: [&str; 3] = ["complete", "client_left", "aborted"];

/// One more than the highest status there can be.
pub(super) const STATUSES: usize = 1000;

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
