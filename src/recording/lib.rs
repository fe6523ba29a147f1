//! Recordings: entries, their file format, and the removal of secrets.
//!
//! A [`RecordingDocument`] is the whole file as data. [`mod@format`] converts it to text and back.
//! [`log_codec`] is the form of an entry in the log next to a file. [`pending`] describes changes
//! that wait for their review. [`redact`] removes secrets before anything is stored.

mod adapter_hashes;
pub mod answer_edit;
mod answer_outcome;
mod audio_note;
pub mod body;
pub mod call_scope;
mod client_audio;
pub mod cost;
pub mod document;
pub mod encoding;
pub mod entry;
mod entry_cost;
mod entry_field;
pub mod entry_maker;
pub mod entry_name;
pub mod error;
pub mod format;
mod gateway_cost;
mod header_names;
pub mod header_text;
pub mod interned;
mod json_style;
pub mod key_variables;
pub mod log_codec;
pub mod message;
pub mod meta;
pub mod name_set;
pub mod normalized_request;
mod object_writer;
pub mod other_file;
pub mod outline;
pub mod pending;
mod price_source;
pub mod raw_members;
pub mod rebuilt_body;
pub mod redact;
pub mod rekey;
pub mod request_print;
pub mod request_text;
pub mod response_header;
mod restyle;
pub mod scan;
pub mod similarity;
mod summary_check;
mod summary_scan;
pub mod take_identity;
pub mod timestamp;
mod typed_reader;
pub mod unchecked;

pub use answer_outcome::PlainBody;
pub use audio_note::{AudioDigest, AudioNote};
pub use body::{Chunk, ChunkLayout, ResponsePayload};
pub use call_scope::{CallDelivery, CallForm, CallScope};
pub use client_audio::without_audio;
pub use document::RecordingDocument;
pub use entry::{
    CodedBody, Entry, EntryError, RecognisedRequest, RecordedCut, RecordedRequest,
    RecordedResponse, ResponseEnd,
};
pub use entry_name::EntryName;
pub use error::FormatError;
pub use header_names::HeaderNames;
pub use key_variables::KeyVariables;
pub use message::{MessagePayload, MessageSender, RecordedMessage};
pub use meta::RecordingMeta;
pub use pending::{PendingChange, PendingKind};
pub use price_source::PriceSource;
pub use unchecked::UncheckedReason;
