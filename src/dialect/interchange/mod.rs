//! Recordings of other tools: import of their files, and export to their formats.
//!
//! [`read()`] finds exchanges in a file of a [`ForeignFormat`], one at a time. [`EntryImporter`]
//! makes an entry of each, in the same steps as a recorder. An [`ExportWriter`] writes entries in a
//! format, and reports what the format cannot hold. A [`ForeignExchange`] and its
//! [`UpstreamAddresses`] separate formats from entries, so that the code of each format knows only
//! its own shape.
//!
//! Only one exchange is held in memory at a time, however large the file is.

mod address;
mod address_placeholder;
mod agentloom;
mod aimock;
mod assumption;
mod attached_files;
mod body_presence;
#[cfg(test)]
mod body_variants_tests;
mod bounded;
mod carried_fields;
mod companion;
mod exchange;
mod format;
mod go_duration;
mod gzip;
mod har;
mod header_list;
mod httprr;
mod import;
mod length;
mod lenient;
mod line;
mod nock;
mod openai_chat;
mod read;
mod read_context;
mod response_body;
mod stored_message;
mod text_answer;
mod text_encoding;
mod value_body;
mod vcr;
mod wiremock;
mod write;

pub use address::{PlacedBy, PlacedCall, UpstreamAddresses};
pub use aimock::{
    FixtureBlock, FixtureList, FixtureMatch, FixturePace, ForeignFixture, RequestContent, TurnRule,
};
pub use assumption::ImportNote;
pub use attached_files::AttachedFiles;
pub use carried_fields::CarriedFields;
pub use companion::CompanionFiles;
pub use exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, NamedEntry, OwnDetails,
    ResponseContent, SkipCause, SkippedItem, TextAnswer, TextExchange,
};
pub use format::{ForeignFormat, UnknownFormat};
pub use gzip::without_gzip;
pub use import::{EntryImporter, ImportRefusal, ImportedEntry};
pub use read::{read, read_with};
pub use read_context::ReadError;
pub use write::{EntryToWrite, ExportWriter, WrittenEntry};
