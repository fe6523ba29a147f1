//! How a script is written, and why a text is none.

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
#[error("{place}{why}")]
pub struct ScriptError {
    /// The call and the entry, each counted from 1, before a colon; empty where it is the whole.
    pub(super) place: String,
    pub(super) why: String,
}
