//! HAR 1.2: browsers, Playwright and proxies write it, and every viewer opens it.

mod body;
mod members;
mod own;
mod read;
mod socket;
mod write;

pub(super) use read::read;
pub(super) use write::write_entry;
