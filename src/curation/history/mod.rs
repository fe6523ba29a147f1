//! The history that a request repeats: its blocks, the earlier call that it continues, and which of
//! its parts are as they were in that call.
//!
//! Most clients send the whole conversation in each request. [`RequestHistory`] has the hashes of a
//! request's blocks, [`continued_calls`] returns for each call of a recording the earlier call that
//! it continues, and [`CarriedParts`] says which parts of a request an earlier one had already.
//! [`PromptPrefix`] says where the beginning of a prompt changed, as a provider's cache sees it.
//! Calls are found by the hashes of the beginnings of their histories, not compared pair by pair, so
//! the work grows with the size of the recording.

mod block;
mod carried_parts;
mod continued_call;
mod part_hash;
mod prompt_prefix;
mod request_history;

pub(crate) use block::{LISTS, list_items};
pub use carried_parts::CarriedParts;
pub use continued_call::{ContinuedCall, continued_calls};
pub(crate) use part_hash::PartHash;
pub use prompt_prefix::{PrefixChange, PrefixChangeWords, PromptPart, PromptPrefix};
pub use request_history::RequestHistory;
