//! How a script is written, and why a text is none.

use loomrec_identity::typed_field::FieldError;

/// How a script's text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptNotation {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Why a text is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{problem}")]
pub struct ScriptError {
    /// The call and the entry, each counted from 1, before a colon; empty where it is the whole.
    pub(super) place: String,
    pub(super) problem: FieldError,
}

impl From<FieldError> for ScriptError {
    fn from(problem: FieldError) -> Self {
        Self { place: String::new(), problem }
    }
}
