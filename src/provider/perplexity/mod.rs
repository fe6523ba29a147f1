//! Perplexity: OpenAI's chat, with the search that an answer rests on.

pub(super) mod chat;
mod error;
mod row;
