//! The flags for sessions.

use clap::Args;
use clap::builder::FalseyValueParser;

use super::{SettingScope, StrictEffect};

/// The flags for sessions that have a receipt of their own.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionArgs {
    /// Seconds without a call after which a session ends
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 3600,
        env = "LOOMREC_SESSION_IDLE",
        value_parser = clap::value_parser!(u64).range(1..=86_400),
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub session_idle: u64,

    /// Refuse calls of sessions that no control call has begun: for test frameworks and hubs
    #[arg(
        long,
        env = "LOOMREC_SESSIONS_BY_CONTROL",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub sessions_by_control: bool,
}
