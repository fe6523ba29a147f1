//! The names of Gemini's token counts.

use crate::operation::UsageNames;

/// The names of Gemini's token counts.
pub(super) const USAGE: UsageNames = UsageNames {
    input: "promptTokenCount",
    output: "candidatesTokenCount",
    total: Some("totalTokenCount"),
};
