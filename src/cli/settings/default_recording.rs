//! The recording of the settings, as the default of the commands that read or change one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::Settings;
use super::setting::Setting;
use crate::args;
use loomrec_store::RecordingLocation;

/// The commands whose recording may be left out, with the name of that argument.
const READERS: [(&str, &str); 11] = [
    ("edit", FILE),
    ("export", FILE),
    ("ls", FILE),
    ("noise", FILE),
    ("prune", FILE),
    ("redact", FILES),
    ("review", FILES),
    ("show", FILE),
    ("stats", FILES),
    ("ui", FILE),
    ("verify", FILES),
];
/// The commands that take keys after the recording. Their first word may be a key of the recording
/// that the settings name.
const WITH_KEYS: [&str; 4] = ["edit", "prune", "rerecord", "show"];
const FILE: &str = "file";
const FILES: &str = "files";

/// When a command changes the recording.
enum RecordingWrites {
    /// Always.
    Always,
    /// With this flag.
    With(&'static str),
    /// Unless one of these flags is given.
    Without(&'static [&'static str]),
}

/// The commands that change the recording.
const WRITERS: [(&str, RecordingWrites); 6] = [
    ("edit", RecordingWrites::Always),
    ("noise", RecordingWrites::With("apply")),
    ("prune", RecordingWrites::With("apply")),
    ("redact", RecordingWrites::With("apply")),
    ("review", RecordingWrites::Without(&["check", "list"])),
    ("verify", RecordingWrites::With("fix")),
];

/// Returns the recordings that the environment names, or else the settings file.
pub fn default_recordings(settings: &Settings) -> Vec<PathBuf> {
    let named = std::env::var_os("LOOMREC_RECORDING").filter(|path| !path.is_empty());
    if let Some(path) = named {
        return vec![path.into()];
    }
    let entry = recording_setting(settings);
    // The paths were joined with the folder of the settings file when it was read.
    entry.into_iter().flat_map(|entry| &entry.values).map(PathBuf::from).collect()
}

/// Returns the setting that names the recording.
pub(super) fn recording_setting(settings: &Settings) -> Option<&Setting> {
    settings
        .find_setting("replay", "recording")
        .or_else(|| settings.find_setting("record", "recording"))
}

/// Returns the command line with the recordings of the settings as the defaults of the commands
/// that read one. With several recordings, a command that takes only one has no default.
pub(super) fn with_default_recording(settings: &Settings, command: Command) -> Command {
    let named = default_recordings(settings);
    if named.is_empty() {
        return command;
    }
    READERS.into_iter().filter(|(_, name)| *name == FILES || named.len() == 1).fold(
        command,
        |command, (reader, name)| {
            command.mut_subcommand(reader, |sub| {
                // `mut_arg` would change the order of positional arguments.
                sub.mut_args(|arg| match arg.get_id() == name {
                    true => {
                        let values = named.iter().map(|path| path.clone().into_os_string());
                        arg.default_values(values).required(false)
                    }
                    false => arg,
                })
            })
        },
    )
}

/// Whether a command changes a recording that only the settings file names.
pub(super) fn changes_default(command: &str, matches: &ArgMatches) -> bool {
    if is_named_by_environment() {
        return false;
    }
    if command == "rerecord" {
        // It writes a file beside the recording.
        let names_pending = matches.get_one::<RecordingLocation>("pending").is_some();
        let has_receipt = matches.value_source("drifted").is_some();
        return !names_pending && !has_receipt && !is_typed(command, matches, FILE);
    }
    let argument = READERS.iter().find(|(reader, _)| *reader == command).map(|(_, name)| *name);
    let writer = WRITERS.iter().find(|(writer, _)| *writer == command);
    let is_set = |flag: &&str| matches.value_source(flag) == Some(ValueSource::CommandLine);
    let writes = writer.is_some_and(|(_, writes)| match writes {
        RecordingWrites::Always => true,
        RecordingWrites::With(flag) => is_set(flag),
        RecordingWrites::Without(flags) => !flags.iter().any(is_set),
    });
    writes && argument.is_some_and(|name| !is_typed(command, matches, name))
}

/// Whether a command reads the recording that only the settings file names.
pub(super) fn is_default_used(command: &str, matches: &ArgMatches) -> bool {
    let reader = READERS.iter().find(|(reader, _)| *reader == command);
    let Some((_, argument)) = reader.filter(|_| !is_named_by_environment()) else { return false };
    !is_typed(command, matches, argument)
}

/// Whether the command line names the recording itself, and not only a key of it.
fn is_typed(command: &str, matches: &ArgMatches, argument: &str) -> bool {
    let is_recording = || {
        let word = matches.get_one::<RecordingLocation>(argument);
        word.is_some_and(|word| is_recording(word.as_path()))
    };
    matches.value_source(argument) == Some(ValueSource::CommandLine)
        && (!WITH_KEYS.contains(&command) || is_recording())
}

fn is_named_by_environment() -> bool {
    std::env::var_os("LOOMREC_RECORDING").is_some_and(|path| !path.is_empty())
}

/// Completes a parsed command line with the recording of the settings: for the commands that take a
/// recording and keys, where the first word may be either, and for those that find their recording
/// in other ways too.
pub fn add_default_recording(
    command: &mut args::Command,
    matches: &ArgMatches,
    settings: &Settings,
) {
    let named = default_recordings(settings);
    let [only] = named.as_slice() else { return };
    let Ok(only) = RecordingLocation::parse(only.clone()) else { return };
    // The word may be the recording, or a key of it.
    let has_word = matches.subcommand().is_some_and(|(_, sub)| {
        let is_word = |id: &str| sub.value_source(id) == Some(ValueSource::CommandLine);
        [FILE, FILES].into_iter().any(|id| sub.try_contains_id(id).is_ok() && is_word(id))
    });
    let key = |file: &RecordingLocation| {
        let key = file.as_path().to_str().filter(|_| has_word && !is_recording(file.as_path()));
        key.map(str::to_owned)
    };
    match command {
        args::Command::Show(args) if args.key.is_none() => {
            if let Some(key) = key(&args.file) {
                (args.file, args.key) = (only, Some(key));
            }
        }
        args::Command::Edit(args) if args.key.is_none() => {
            if let Some(key) = key(&args.file) {
                (args.file, args.key) = (only, Some(key));
            }
        }
        args::Command::Prune(args) => {
            if let Some(key) = key(&args.file) {
                args.file = only;
                args.keys.insert(0, key);
            }
        }
        args::Command::Rerecord(args)
            if args.pending.as_ref().is_none_or(Option::is_none) && args.drifted.is_none() =>
        {
            if let Some(key) = args.file.as_ref().and_then(key) {
                args.file = None;
                args.keys.insert(0, key);
            }
            args.file.get_or_insert(only);
        }
        // A list also has the recordings that are found.
        args::Command::Review(args)
            if (args.list || args.check) && args.output.is_none() && !has_word =>
        {
            args.files.clear();
            args.configured = Some(only);
        }
        _ => {}
    }
}

/// Whether a word of the command line names a recording, and not a key: there is such a file, or its
/// name is that of a file or a folder.
fn is_recording(path: &Path) -> bool {
    let ends_as_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    path.extension() == Some(OsStr::new("json")) || ends_as_folder || path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_recordings_are_told_from_keys() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        for (name, is) in [
            ("file", true),
            ("none.json", true),
            ("none/", true),
            ("folder", false),
            ("79c0", false),
            ("agent/plan", false),
            ("plan#2", false),
        ] {
            assert_eq!(is_recording(&path(name)), is, "{name}");
        }
    }
}
