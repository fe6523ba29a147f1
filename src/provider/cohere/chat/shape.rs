//! What tells Cohere's two versions, and an answer that broke off.

use serde_json::Value;

/// Why an answer ended that broke off.
pub(super) const FAILED: &str = "ERROR";

/// Whether nothing is said by it but that it may come.
pub(super) fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_str() == Some("")
}
