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

    /// Apply the preset of this name to all requests, or none to any
    ///
    /// For an agent that is not recognised. 'loomrec config --preset' lists them. 'none' recognises no agent.
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_PRESET",
        add = StrictEffect::weakens_unless("none")
    )]
    #[arg(add = SettingScope::Run)]
    pub preset: Option<String>,
}

impl RunValueArgs {
    /// Whether no agent is recognised.
    #[must_use]
    pub fn has_no_preset(&self) -> bool {
        self.preset.as_deref() == Some("none")
    }

    /// Returns the name of the preset for all requests.
    #[must_use]
    pub fn preset_for_all(&self) -> Option<&str> {
        self.preset.as_deref().filter(|_| !self.has_no_preset())
    }
}
