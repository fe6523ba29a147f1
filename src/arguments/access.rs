//! The flags of the access policy: who may call loomrec, and under which host names.

use clap::Args;

use super::{SettingScope, StrictEffect};

/// What may call, beside programs on this machine.
#[derive(Clone, Debug, Default, Args)]
pub struct AccessArgs {
    /// Accept calls from web pages of this origin, such as http://localhost:3000 (repeatable)
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "LOOMREC_ALLOW_ORIGIN",
        value_delimiter = ' ',
        add = StrictEffect::Named
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub allow_origin: Vec<String>,
}
