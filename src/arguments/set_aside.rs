//! The values that `--strict` sets aside, and their sources.

/// What was set aside, each with its source.
#[derive(Clone, Debug, Default)]
pub struct SetAside {
    /// Rules in words. A rule that the recording has too remains in force.
    pub rules: Vec<(String, String)>,
    /// All other settings, in words.
    pub settings: Vec<String>,
}
