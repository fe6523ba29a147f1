//! The finish reasons of interactions.

use crate::answer_draft::FinishWords;

/// The statuses with which an interaction ends.
pub(super) static FINISH: FinishWords = FinishWords {
    stop: &["completed"],
    length: &["incomplete", "budget_exceeded"],
    tools: &["requires_action"],
    filter: &[],
};
