//! The notations of scripts, and the error of a text that is no script.

use loomrec_identity::typed_field::FieldError;

/// The notation of a script's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptNotation {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The error of a text that is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{problem}")]
pub struct ScriptError {
    /// The call and the entry, each counted from 1, before a colon; empty for the whole text.
    pub(super) place: String,
    pub(super) problem: FieldError,
}

impl From<FieldError> for ScriptError {
    fn from(problem: FieldError) -> Self {
        Self { place: String::new(), problem }
    }
}
