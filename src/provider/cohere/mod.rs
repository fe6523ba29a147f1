//! Cohere.

pub(super) mod chat;
pub(super) mod embed;
mod row;
mod usage;
mod version;

use usage::{counts, usage};
use version::is_first;
