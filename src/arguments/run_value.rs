//! The flags for the values that vary from run to run.

use clap::Args;

use super::{SettingScope, StrictEffect};

/// The values of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct RunValueArgs {
    /// A value that differs in each run, such as a temporary path (repeatable)
    ///
    /// In replay, a request that has this run's VALUE where the recorded one has the recorded value
    /// of the same name is answered, with this run's value in the answer. The working directory, the
    /// home directory, the day and others are such values already.
    #[arg(
        long = "var",
        value_name = "NAME=VALUE",
        env = "LOOMREC_VAR",
        value_delimiter = '\n',
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub vars: Vec<String>,

    /// Do not use this value of the run, such as cwd, home, day, user or host (repeatable)
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_NO_RUN_VALUE",
        value_delimiter = ' ',
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub no_run_value: Vec<String>,

    /// Do not apply loomrec's preset for the program that CMD runs
    #[arg(
        long,
        env = "LOOMREC_NO_PRESET",
        value_parser = clap::builder::FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub no_preset: bool,
}
