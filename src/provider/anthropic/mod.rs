//! Anthropic's Messages API, wherever it is served.

pub(super) mod count_tokens;
mod error;
mod limit;
pub(super) mod messages;
mod row;
mod usage_names;
