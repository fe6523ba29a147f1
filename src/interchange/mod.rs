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
mod agentloom;
mod aimock;
mod beside;
mod bounded;
mod conversation;
mod exchange;
mod field;
mod format;
mod har;
mod header_list;
mod import;
mod length;
mod line;
mod openai;
mod otel;
mod read;
mod vcr;
mod words;
mod write;

pub use address::{Addresses, By, Placed};
pub use aimock::Rules;
pub use beside::{Beside, Requests};
pub use exchange::{
    Content, Exchange, Item, Left, LeftCause, Named, Own, Request, Response, Said, Words,
};
pub use format::{Format, UnknownFormat};
pub use import::{Import, Made, Refused};
pub use openai::read_requests;
pub use read::{ReadError, read, read_with};
pub use write::{Sent, Writer, Written};
