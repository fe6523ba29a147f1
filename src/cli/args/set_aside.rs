//! The values that `--strict` sets aside, and where they come from.

/// What was set aside, each with the place it comes from.
#[derive(Clone, Debug, Default)]
pub struct SetAside {
    /// Rules in words: one that stands in the recording is in force all the same.
    pub rules: Vec<(String, String)>,
    /// All else, in words.
    pub settings: Vec<String>,
}
