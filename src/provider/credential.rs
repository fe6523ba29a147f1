//! How a key is sent to each upstream, and which environment variables hold it.
//!
//! The variables are those that the upstream's own SDKs and tools read.

/// How a key is sent to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCarrier {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// The key alone, in the header of this name.
    Header(&'static str),
}

/// One way to send a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlacement {
    /// The header and its format.
    pub carrier: KeyCarrier,
    /// The variables that may hold the key; the first one that is set is used.
    pub variables: &'static [&'static str],
}

/// The credentials that an upstream accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamCredential {
    /// The ways to send a key, the usual one first.
    pub ways: &'static [KeyPlacement],
    /// Whether no request is sent without a key.
    pub needed: bool,
    /// An additional hint if no variable is set.
    pub hint: &'static str,
}

impl UpstreamCredential {
    /// How a key is usually sent.
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

/// The variable that holds the key of an upstream without a known name: `NAME_API_KEY`.
pub fn variable_name(upstream: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{}_API_KEY", upstream.chars().map(upper).collect::<String>())
}
