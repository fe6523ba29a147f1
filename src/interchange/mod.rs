//! Recordings of other tools: from their files to entries, and from entries to theirs.
//!
//! [`read()`] finds exchanges in a file of a [`Format`], one at a time; [`Import`] makes
//! an entry of each, by the very steps by which one is recorded. A [`Writer`] writes
//! entries in a format, and tells what that cannot hold. An [`Exchange`] and its
//! [`Addresses`] stand between formats and entries, so that each format knows its own
//! shape and nothing else.
//!
//! No more is held in memory than one exchange, however large a file is.

mod address;
mod bounded;
mod exchange;
mod field;
mod format;
mod har;
mod import;
mod read;
mod vcr;
mod write;

pub use address::{Addresses, By, Placed};
pub use exchange::{Content, Exchange, Item, Left, Own, Request, Response};
pub use format::{Format, UnknownFormat};
pub use import::{Import, Made, Refused};
pub use read::{ReadError, read};
pub use write::{Sent, Writer, Written};
