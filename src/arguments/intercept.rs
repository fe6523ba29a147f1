//! The flags for programs that have no base URL.

use clap::Args;
use clap::builder::FalseyValueParser;

use super::{SettingScope, StrictEffect};

/// The interception of connections.
#[derive(Clone, Debug, Default, Args)]
pub struct InterceptArgs {
    /// Answer programs that have no base URL: be their https proxy, with certificates of this run
    ///
    /// Connections to hosts of providers and of --upstream come here. CMD gets the variables for it;
    /// --print-env prints them.
    #[arg(
        long,
        env = "LOOMREC_INTERCEPT",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::WeakensCommand
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub intercept: bool,

    /// With --intercept, let a replay connect to this host, which is no provider's (repeatable)
    #[arg(
        long,
        value_name = "HOST",
        env = "LOOMREC_PASS",
        value_delimiter = ' ',
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub pass: Vec<String>,
}
