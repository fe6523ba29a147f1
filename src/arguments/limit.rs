//! The flags that limit what clients may use.

use clap::Args;

use super::{SettingScope, StrictEffect};

/// The limits for clients.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// Maximum number of open connections; further ones get a 503 [default: by the limit on open
    /// files, at most 20000]
    #[arg(
        long,
        value_name = "N",
        env = "LOOMREC_MAX_CONNECTIONS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub max_connections: Option<u32>,

    /// Seconds that a client may pause within a request, or keep a connection idle
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        env = "LOOMREC_CLIENT_TIMEOUT",
        value_parser = clap::value_parser!(u64).range(1..=86_400),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub client_timeout: u64,
}
