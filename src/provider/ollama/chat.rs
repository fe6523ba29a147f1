//! Ollama's chat.

use crate::provider::wire::Wire;

/// Not read yet.
pub(in crate::provider) const WIRE: Wire =
    Wire { read: None, read_stream: None, merge: None, split: None, write: None };
