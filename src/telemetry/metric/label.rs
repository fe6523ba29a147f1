//! Fixed label values, which are counted by their index, and the counting of them.

use std::sync::atomic::{AtomicU64, Ordering};

use loomrec_dialect::plain_entry;
use loomrec_provider::AnswerOutcome;

/// The source of misses and refusals.
pub(super) const OURSELVES: &str = "loomrec";

/// The sources of answers, in the order of [`AnswerSource`](loomrec_engine::AnswerSource).
pub(super) const SOURCES: [&str; 6] =
    ["recording", "upstream", "script", "default", "fault", OURSELVES];

/// How an answer that was not live was found.
pub(super) const MATCHED_BY: [&str; 7] = [
    "step_id",
    "request_hash",
    "bound",
    plain_entry::BY_HASH,
    plain_entry::BY_MESSAGES,
    "script",
    "default",
];

/// How streams end.
pub(super) const ENDS: [&str; 3] = ["complete", "client_left", "aborted"];

/// The outcomes of answers.
pub(super) const ANSWERS: [AnswerOutcome; 4] = AnswerOutcome::ALL;

/// One more than the highest possible status.
pub(super) const STATUSES: usize = 1000;

/// Adds one to a counter.
pub(super) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
