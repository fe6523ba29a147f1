//! The flags for the values that vary from run to run.

use clap::Args;

use super::{SettingScope, StrictEffect};

/// The values of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct RunValueArgs {
    /// Bind the paths of the run, so that a replay elsewhere matches
    ///
    /// They are the working, the home and the temporary directory. Known agents are bound without
    /// it.
    #[arg(
        long,
        env = "LOOMREC_BIND",
        value_parser = clap::builder::FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub bind: bool,

    /// A value that differs in each run, such as a temporary path (repeatable)
    ///
    /// A path is bound everywhere, any other value in holes of rules: {{var:NAME}}.
    #[arg(
        long = "var",
        value_name = "NAME=VALUE",
        env = "LOOMREC_VAR",
        value_delimiter = '\n',
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub vars: Vec<String>,

    /// Do not use this value of the run, such as cwd or day (repeatable)
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_NO_RUN_VALUE",
        value_delimiter = ' ',
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub no_run_value: Vec<String>,

    /// Apply the preset of this name to all requests
    ///
    /// For an agent that is not recognised. 'loomrec rules' lists them.
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_PRESET",
        conflicts_with = "no_preset",
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub preset: Option<String>,

    /// Do not apply loomrec's presets for known agents
    #[arg(
        long,
        env = "LOOMREC_NO_PRESET",
        value_parser = clap::builder::FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub no_preset: bool,
}
