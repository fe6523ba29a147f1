//! What `--strict` made of the values of flags, with their sources.

/// The prefix of a rule that leaves a header out of identity, as `--ignore` takes it.
pub const HEADER: &str = "header:";

/// The prefix of a rule that treats a query parameter as a credential, and so leaves it out of
/// identity.
pub const PARAMETER: &str = "parameter ";

/// The prefix of a rule for what clients make anew.
pub const NORMALIZE: &str = "normalize ";

/// The prefix of a rule for what is redacted before requests are compared.
pub const REDACT: &str = "redact ";

/// What `--strict` made of the values of flags. Empty without `--strict`.
#[derive(Clone, Debug, Default)]
pub struct SetAside {
    /// The rules that were set aside, in words, each with its source. A rule that the recording has
    /// too remains in force.
    pub rules: Vec<(String, String)>,
    /// All other settings that were set aside, in words.
    pub settings: Vec<String>,
    /// The flags that were typed and weaken the replay.
    pub typed: Vec<String>,
    /// What counts although it was not typed, in words.
    pub untyped: Vec<String>,
}

/// Returns a value of `--ignore` as its rule is shown: names of headers have no case, and pointers
/// have.
#[must_use]
pub fn ignored_rule(value: &str) -> String {
    match value.starts_with(HEADER) {
        true => value.to_ascii_lowercase(),
        false => value.to_owned(),
    }
}
