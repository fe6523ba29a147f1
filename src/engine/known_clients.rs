//! The clients whose requests loomrec knows rules for.

use http::{HeaderMap, header};

use loomrec_identity::ClientPreset;
use loomrec_recording::normalized_request::RequestClient;

/// The clients that are recognised in a run.
#[derive(Clone, Copy, Debug, Default)]
pub enum KnownClients {
    /// Those that the `user-agent` or the instructions of a request name.
    #[default]
    ByHeader,
    /// All requests have this preset, unless their `user-agent` names another.
    All(&'static ClientPreset),
    /// None.
    None,
}

impl KnownClients {
    /// Returns what is known of the client of a request with these headers.
    pub fn client_of(self, headers: &HeaderMap) -> RequestClient {
        let by_header = || {
            let agent = headers.get(header::USER_AGENT)?.to_str().ok()?;
            ClientPreset::of_user_agent(agent)
        };
        match self {
            Self::ByHeader => {
                by_header().map_or(RequestClient::ByInstructions, RequestClient::Known)
            }
            Self::All(preset) => RequestClient::Known(by_header().unwrap_or(preset)),
            Self::None => RequestClient::Unknown,
        }
    }
}
