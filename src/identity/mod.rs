//! What makes two requests the same request: the exact JSON reader, the
//! canonical text, and the SHA-256 key over it.
//!
//! [`RequestKey::of`] hashes [`RequestParts`] under [`IdentityRules`]. Identity
//! is the whole request, never a substring; nothing here reads a clock, a file
//! or the network. [`delta`] explains, after a miss, what was different.

pub mod canonical;
pub mod delta;
mod digest;
pub mod header;
pub mod json;
pub mod key;
pub mod multipart;
pub mod parts;
pub mod query;
mod question;
pub mod reader;
pub mod rules;
pub mod text;

#[cfg(test)]
mod tests;

pub use canonical::python_float;
pub use delta::{Delta, deltas, distance, request_deltas};
pub use json::{Json, JsonError};
pub use key::{RequestKey, canonical_text};
pub use parts::{Form, RequestParts};
pub use query::QueryRules;
pub use reader::parse;
pub use rules::{IdentityRules, Pointer, PointerError};
pub use text::Str;
