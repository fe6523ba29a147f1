//! How a key is shown to each upstream, and which environment variables hold it.
//!
//! The variables are those that the upstream's own SDKs and tools read.

/// How an upstream is shown a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCarrier {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// The key alone, in the header of this name.
    Header(&'static str),
}

/// One way to show a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlacement {
    /// How.
    pub carrier: KeyCarrier,
    /// The variables that may hold the key; the first that is set does.
    pub variables: &'static [&'static str],
}

/// What an upstream wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamCredential {
    /// The ways, the usual one first.
    pub ways: &'static [KeyPlacement],
    /// Whether nothing is sent without one.
    pub needed: bool,
    /// What else there is to say where no variable is set.
    pub hint: &'static str,
}

impl UpstreamCredential {
    /// How a key is usually shown.
    pub fn usual_carrier(&self) -> KeyCarrier {
        self.ways.first().map_or(KeyCarrier::Bearer, |way| way.carrier)
    }

    /// All variables, the usual one first.
    pub fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.ways.iter().flat_map(|way| way.variables.iter().copied())
    }
}

pub(super) const fn bearer(variables: &'static [&'static str]) -> KeyPlacement {
    KeyPlacement { carrier: KeyCarrier::Bearer, variables }
}

pub(super) const fn header(name: &'static str, variables: &'static [&'static str]) -> KeyPlacement {
    KeyPlacement { carrier: KeyCarrier::Header(name), variables }
}

pub(super) const fn needed(
    ways: &'static [KeyPlacement],
    hint: &'static str,
) -> UpstreamCredential {
    UpstreamCredential { ways, needed: true, hint }
}

/// The variable that holds the key of an upstream that is not known by name:
/// `NAME_API_KEY`.
pub fn variable(upstream: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{}_API_KEY", upstream.chars().map(upper).collect::<String>())
}
