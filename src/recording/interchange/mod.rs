//! Recordings of other tools: from their files to entries, and from entries to theirs.
//!
//! [`read()`] finds exchanges in a file of a [`ForeignFormat`], one at a time; [`EntryImporter`] makes
//! an entry of each, by the very steps by which one is recorded. A [`ExportWriter`] writes
//! entries in a format, and tells what that cannot hold. An [`ForeignExchange`] and its
//! [`UpstreamAddresses`] stand between formats and entries, so that each format knows its own
//! shape and nothing else.
//!
//! No more is held in memory than one exchange, however large a file is.

mod address;
mod agentloom;
mod aimock;
mod bounded;
mod companion;
mod exchange;
mod format;
mod har;
mod header_list;
mod import;
mod length;
mod lenient;
mod line;
mod openai;
mod otel;
mod read;
mod read_context;
mod text_answer;
mod vcr;
mod write;

pub use address::{PlacedBy, PlacedCall, UpstreamAddresses};
pub use aimock::FixtureList;
pub use companion::{BatchRequests, CompanionFiles};
pub use exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, NamedEntry, OwnDetails,
    ResponseContent, SkipCause, SkippedItem, TextAnswer, TextExchange,
};
pub use format::{ForeignFormat, UnknownFormat};
pub use import::{EntryImporter, ImportRefusal, ImportedEntry};
pub use openai::read_requests;
pub use read::{read, read_with};
pub use read_context::ReadError;
pub use write::{EntryToWrite, ExportWriter, WrittenEntry};
