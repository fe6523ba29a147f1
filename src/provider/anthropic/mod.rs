//! Anthropic's Messages API, at any host.

pub(super) mod complete;
pub(super) mod count_tokens;
mod error;
mod limit;
pub(super) mod messages;
mod row;
mod usage_names;
