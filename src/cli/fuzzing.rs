//! Entry points for the fuzz targets (tests/fuzz): they run commands within this process, again and
//! again, as the binary runs them. Built only with the feature `fuzzing`.

use std::path::Path;

use clap::{CommandFactory as _, Parser as _};

use super::args::{Cli, Command};
use super::exit::{CommandFailure, UNEXPECTED};
use super::settings::{self, Settings};
use super::{dispatch, without_empty_variables};

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

/// Parses a command, and returns a function that runs it. Only commands that end by themselves and
/// need no runtime can be run repeatedly.
///
/// # Errors
/// A command line that is refused.
pub fn command(
    words: &[&str],
) -> Result<impl Fn() -> Result<u8, CommandFailure> + use<>, CommandFailure> {
    let cli =
        Cli::try_parse_from(words).map_err(|error| CommandFailure::usage(error.to_string()))?;
    Ok(move || match &cli.command {
        Command::Ls(args) => super::ls::run(args),
        Command::Show(args) => super::show::run(args),
        Command::Diff(args) => super::diff::run(args),
        Command::Noise(args) => super::noise::run(args),
        Command::Stats(args) => super::stats::run(args),
        Command::Pending(args) => super::pending::run(args),
        Command::Verify(args) => super::verify::run(args),
        Command::Salvage(args) => super::salvage::run(args),
        Command::Prune(args) => super::prune::run(args),
        Command::Redact(args) => super::redact::run(args),
        Command::Journal(args) => super::journal::run(args),
        Command::Score(args) => super::score::run(args),
        other => Err(CommandFailure::usage(format!("not run by a target: {other:?}"))),
    })
}

/// Runs a command that serves, on a runtime of its own, until it ends.
///
/// # Errors
/// A command line that is refused, or a server that cannot start.
pub fn serve(words: &[&str]) -> Result<u8, CommandFailure> {
    let plain = Cli::command();
    let cli =
        Cli::try_parse_from(words).map_err(|error| CommandFailure::usage(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| CommandFailure::new(UNEXPECTED, error.to_string()))?;
    runtime.block_on(dispatch(cli.command, &Settings::default(), &plain))
}
