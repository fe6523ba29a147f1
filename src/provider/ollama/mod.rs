//! Ollama's own API.

mod answer_place;
pub(super) mod chat;
pub(super) mod embed;
pub(super) mod generate;
mod row;
mod turn;
