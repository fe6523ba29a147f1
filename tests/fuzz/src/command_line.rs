//! The parser of the command line under a settings file.

use std::path::Path;

use clap::CommandFactory as _;
use loomrec_arguments::Cli;
use loomrec_cli::command_definition::without_empty_variables;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::settings::{self, Settings};

/// The definition of the command line. Building it takes longer than most inputs.
pub struct CommandLine(clap::Command);

impl Default for CommandLine {
    fn default() -> Self {
        Self(without_empty_variables(Cli::command()))
    }
}

impl CommandLine {
    /// Reads a settings file, and parses `words` under it. Returns how many of the command's
    /// arguments have values.
    ///
    /// # Errors
    /// A settings file or a command line that is refused.
    pub fn parse_under(&self, file: &Path, words: &[&str]) -> Result<usize, CommandFailure> {
        let folder = file.parent().unwrap_or(file);
        let settings = Settings::find(Some(file), folder, &self.0)?;
        let command = settings::into_command(&settings, self.0.clone());
        let matches = command
            .try_get_matches_from(words)
            .map_err(|error| CommandFailure::usage(error.to_string()))?;
        let set = matches.subcommand().map_or(0, |(_, given)| given.ids().count());
        Ok(set)
    }
}
