//! Redaction patterns, and the errors of invalid ones.

use regex::bytes::Regex;

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// It is not a regular expression.
    #[error("read the redaction pattern {pattern:?}: {problem}")]
    Pattern {
        /// The pattern as the user gave it.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It matches the empty text, and therefore everything.
    #[error("use the redaction pattern {pattern:?}: it matches the empty text; make it longer")]
    Empty {
        /// The pattern as the user gave it.
        pattern: String,
    },
}

pub(super) fn compile_pattern(pattern: &str) -> Result<Regex, RedactError> {
    Regex::new(pattern).map_err(|error| RedactError::Pattern {
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    })
}
