//! AWS Bedrock's runtime.

pub(super) mod converse;
mod error;
pub(super) mod invoke;
mod row;
