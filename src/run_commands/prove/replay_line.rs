//! The command line of the replay that proves a record: the same command, and the flags that both
//! have, but for files that are written.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::args::SettingScope;
use loomrec_cli::exit::CommandFailure;

/// The flag that is left out of both lines.
const PROVE: &str = "--prove";

/// The command line of a replay.
pub(super) struct ReplayLine {
    pub(super) words: Vec<OsString>,
    /// The variables that must not be set: those of files that are written.
    pub(super) unset: Vec<OsString>,
}

/// Returns the words of the record itself. It writes `receipt` if that is given.
pub(super) fn record_words(words: &[OsString], receipt: Option<&PathBuf>) -> Vec<OsString> {
    let (own, command) = split_command(words);
    let kept = own.iter().filter(|word| *word != PROVE).cloned();
    let receipt = receipt.into_iter().flat_map(|path| ["--receipt".into(), path.clone().into()]);
    kept.chain(receipt).chain(command.iter().cloned()).collect()
}

impl ReplayLine {
    /// Returns the line that replays what the line `words` records. It writes `receipt`.
    ///
    /// # Errors
    /// Words that cannot be read again.
    pub(super) fn from_words(
        words: &[OsString],
        line: &Command,
        receipt: &Path,
    ) -> Result<Self, CommandFailure> {
        let program: &[OsString] = &["loomrec".into()];
        let all = program.iter().chain(words);
        let typed = line.clone().try_get_matches_from(all);
        let typed = typed.map_err(|error| CommandFailure::usage(error.to_string()))?;
        let commands = line.find_subcommand("record").zip(line.find_subcommand("replay"));
        let Some(((_, typed_record), (record, replay))) = typed.subcommand().zip(commands) else {
            return Err(CommandFailure::usage("--prove is a flag of record"));
        };
        let mut own: Vec<OsString> = Vec::new();
        line.get_arguments().for_each(|arg| own.extend(typed_words(&typed, arg)));
        own.extend(["replay", "--strict", "--fail-unused"].map(OsString::from));
        own.extend(["--receipt".into(), receipt.as_os_str().to_owned()]);
        // A flag of both commands has one name, and not always one id.
        let is_of_replay = |arg: &&Arg| {
            replay
                .get_arguments()
                .any(|other| other.get_long() == arg.get_long() && is_shared(other))
        };
        let flags = record.get_arguments().filter(|arg| !arg.is_global_set());
        flags.filter(is_of_replay).for_each(|arg| own.extend(typed_words(typed_record, arg)));
        own.extend(split_command(words).1.iter().cloned());
        let written = replay.get_arguments().filter(|arg| is_written(arg));
        let unset = written.filter_map(|arg| arg.get_env().map(OsStr::to_owned)).collect();
        Ok(Self { words: own, unset })
    }
}

/// Returns the words of loomrec, and those of the command with the `--` before it.
fn split_command(words: &[OsString]) -> (&[OsString], &[OsString]) {
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.split_at(at)
}

/// Whether the replay gets a flag of the record: not what is written, and no address to listen at.
fn is_shared(arg: &Arg) -> bool {
    arg.get_long() != Some("listen") && !arg.is_positional() && !is_written(arg)
}

fn is_written(arg: &Arg) -> bool {
    matches!(SettingScope::from_argument(arg), SettingScope::OutputFile { .. })
}

/// Returns the words that give a flag the values that were typed for it.
fn typed_words(matches: &ArgMatches, arg: &Arg) -> Vec<OsString> {
    let id = arg.get_id().as_str();
    let is_known = matches.try_contains_id(id).unwrap_or(false);
    let Some(long) = arg.get_long().filter(|_| is_known) else { return Vec::new() };
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return Vec::new();
    }
    let flag = OsString::from(format!("--{long}"));
    if !arg.get_action().takes_values() {
        return vec![flag];
    }
    let values = matches.get_raw(id).into_iter().flatten();
    values.flat_map(|value| [flag.clone(), value.to_owned()]).collect()
}
