//! Google Gemini and Vertex.

pub(super) mod count_tokens;
pub(super) mod embed;
mod error;
pub(super) mod generate;
pub(super) mod interaction;
mod row;
mod usage_names;
