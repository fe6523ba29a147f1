//! The recording: entries, the file format around them, and what must never
//! get into it.
//!
//! A [`Cassette`] is the whole file as data; [`mod@format`] turns it into text and
//! back; [`packed`] is an entry's form in the log beside a file; [`pending`] is what a
//! change that waits for its review is about; [`redact`] removes secrets before anything
//! is stored.

pub mod body;
pub mod cassette;
pub mod cost;
pub mod encoding;
pub mod entry;
pub mod error;
pub mod exchange;
mod field;
pub mod format;
mod header_names;
pub(crate) mod interned;
pub mod meta;
pub mod moment;
pub mod name;
pub(crate) mod names;
mod object;
pub mod observed;
pub(crate) mod outline;
pub mod packed;
pub mod pending;
pub mod question;
pub(crate) mod rebuild;
pub mod redact;
pub mod rekey;
pub mod request_text;
pub mod response_header;
pub mod salvage;
pub(crate) mod scan;
pub mod sketch;
mod spelled;
mod text;
mod token;
pub mod unchecked;

pub use body::{Chunk, Layout, Payload};
pub use cassette::Cassette;
pub use entry::{Cut, End, Entry, EntryError, RecordedRequest, RecordedResponse};
pub use error::FormatError;
pub use header_names::HeaderNames;
pub use meta::Meta;
pub use name::EntryName;
pub use pending::{Pending, Waiting};
pub use unchecked::Unchecked;
