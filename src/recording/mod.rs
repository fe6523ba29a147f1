//! The recording: entries, the file format around them, and what must never
//! get into it.
//!
//! A [`cassette::Cassette`] is the whole file as data; [`format`] turns it into
//! text and back; [`redact`] removes secrets before anything is stored.

pub mod body;
pub mod cost;
pub mod entry;
