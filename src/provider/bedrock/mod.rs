//! AWS Bedrock's runtime.

pub(super) mod converse;
pub(super) mod count_tokens;
mod error;
pub(super) mod invoke;
mod row;
