//! The clients whose requests loomrec knows rules for.

use http::{HeaderMap, header};

use loomrec_identity::ClientPreset;

/// The clients that are recognised in a run.
#[derive(Clone, Copy, Debug, Default)]
pub enum KnownClients {
    /// Those that their `user-agent` names.
    #[default]
    ByHeader,
    /// All requests have this preset, unless their `user-agent` names another.
    All(&'static ClientPreset),
    /// None.
    None,
}

impl KnownClients {
    /// Returns the preset of the client of a request with these headers.
    pub fn preset_of(self, headers: &HeaderMap) -> Option<&'static ClientPreset> {
        let by_header = || {
            let agent = headers.get(header::USER_AGENT)?.to_str().ok()?;
            ClientPreset::of_user_agent(agent)
        };
        match self {
            Self::ByHeader => by_header(),
            Self::All(preset) => by_header().or(Some(preset)),
            Self::None => None,
        }
    }
}
