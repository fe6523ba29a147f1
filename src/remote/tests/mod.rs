//! Tests of recordings in object stores as a whole, with a store in memory that fails and is damaged.

pub(crate) mod failing_store;
mod history;
mod history_steps;
pub(crate) mod made_segment;
mod packs;
