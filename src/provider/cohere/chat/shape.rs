//! Signs of a failed answer and of empty members in Cohere's chat.

use serde_json::Value;

/// The finish reason of an answer that failed.
pub(super) const FAILED: &str = "ERROR";

/// Whether a value is empty, so that it only announces content.
pub(super) fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_str() == Some("")
}
