//! Patterns of credentials, and why one is refused.

use regex::bytes::Regex;

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// Not a regular expression.
    #[error("read the redaction pattern {pattern:?}: {problem}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It matches the empty text, and so everything.
    #[error("use the redaction pattern {pattern:?}: it matches the empty text; make it longer")]
    Empty {
        /// As it was given.
        pattern: String,
    },
}

pub(super) fn compile(pattern: &str) -> Result<Regex, RedactError> {
    Regex::new(pattern).map_err(|error| RedactError::Pattern {
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    })
}
