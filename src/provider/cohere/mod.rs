//! Cohere.

pub(super) mod chat;
pub(super) mod embed;
mod row;
mod usage;
mod version;

use usage::write_counts;
use version::is_first;
