//! The flags that limit what clients may use.

use clap::Args;

use super::{SettingScope, StrictEffect};

/// The limits for clients.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
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
