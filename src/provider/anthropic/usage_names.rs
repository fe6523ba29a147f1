//! The names of Anthropic's token counts.

use crate::operation::UsageNames;

/// The names of Anthropic's token counts.
pub(super) const USAGE: UsageNames =
    UsageNames { input: "input_tokens", output: "output_tokens", total: None };
