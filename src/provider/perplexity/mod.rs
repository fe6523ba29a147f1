//! Perplexity: OpenAI's chat, with the search that an answer is based on.

pub(super) mod chat;
mod error;
mod row;
