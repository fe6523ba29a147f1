//! HAR 1.2: what browsers, Playwright and proxies write, and any viewer opens.

mod body;
mod own;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::entry;
