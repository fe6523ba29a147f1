//! What the receipt says about the order in which answers ended.

use loomrec_engine::replay::{LONGEST_WAIT, ReplayEngine};

/// Returns how many answers did not end in the recorded order; `None` if all did, or if no order was
/// kept.
pub(super) fn order_complaint(replay: &ReplayEngine) -> Option<String> {
    let (answers, seconds) = (replay.ends_out_of_order(), LONGEST_WAIT.as_secs());
    (answers > 0).then(|| {
        format!(
            "answers that ended before others that had ended first in the recorded run, because \
             they had waited for {seconds} s: {answers}; see --end-order"
        )
    })
}
