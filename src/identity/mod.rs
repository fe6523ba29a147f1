//! What makes two requests the same request: the exact JSON reader, the
//! canonical text, and the SHA-256 key over it.
//!
//! [`RequestKey::of`] hashes [`RequestParts`] under [`IdentityRules`]. Identity
//! is the whole request, never a substring; nothing here reads a clock, a file
//! or the network.

pub mod key;
pub mod parts;
pub mod rules;

pub use key::RequestKey;
pub use parts::{Form, RequestParts};
pub use rules::{IdentityRules, Pointer};
