//! Hints for a command line of `record` or `replay` that cannot be read: the `--` before CMD is
//! missing, or the recording is not named. Each hint ends with the line that would do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::settings::Settings;
use super::terminal::quote_word;

/// The commands that run a command.
const RUNNERS: [&str; 2] = ["record", "replay"];

/// The folder in which recordings are looked for.
const FOLDER: &str = "recordings";

/// The recording in a hint if none is known.
const EXAMPLE: &str = "recordings/agent.json";

/// What a line lacks, and the line with it.
struct LineCorrection {
    needs_recording: bool,
    needs_separator: bool,
    line: Vec<OsString>,
}

impl LineCorrection {
    /// Returns the hint.
    fn hint_text(&self) -> String {
        let what = match (self.needs_recording, self.needs_separator) {
            (true, true) => "name the recording with -r, and put -- before the command",
            (true, false) => "name the recording with -r",
            (false, _) => "put -- before the command",
        };
        format!("{what}: {}", shell_line(&self.line))
    }
}

/// Returns a hint for the command line `words`, which `command` refused with `error`. Returns `None`
/// if the error's own message is better.
pub fn find(
    error: &clap::Error,
    words: &[OsString],
    command: &mut Command,
    settings: &Settings,
) -> Option<String> {
    let correction = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(stray))) => {
            for_stray_word(stray, words, command, settings)?
        }
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => {
            let is_recording = |name: &String| name.starts_with("--recording");
            missing.iter().find(|name| is_recording(name))?;
            LineCorrection {
                needs_recording: true,
                needs_separator: false,
                line: with_recording(words, &known_recording(settings))?,
            }
        }
        _ => return None,
    };
    Some(correction.hint_text())
}

/// Returns the line of this process with the recording that is probably meant. Returns `None` if
/// none is known.
pub fn with_known_recording(settings: &Settings) -> Option<String> {
    let words: Vec<OsString> = std::env::args_os().collect();
    Some(shell_line(&with_recording(&words, &found_recording(settings)?)?))
}

/// Corrects a line with the word `stray`, which is neither a flag nor the value of one: it is the
/// recording or the beginning of CMD.
fn for_stray_word(
    stray: &str,
    words: &[OsString],
    command: &mut Command,
    settings: &Settings,
) -> Option<LineCorrection> {
    if stray.starts_with('-') {
        return None;
    }
    // The same word may also be the value of a flag: then `--` cannot be there.
    let places = (2..words.len()).filter(|&at| words[at] == stray);
    let (at, named) = places.into_iter().find_map(|at| {
        let mut line = words[..at].to_vec();
        line.extend(["--".into(), "CMD".into()]);
        names_recording(command, &line).map(|named| (at, named))
    })?;
    let (before, mut after) = (&words[..at], &words[at..]);
    let is_recording = named != Some(ValueSource::CommandLine) && stray.ends_with(".json");
    let mut line = before.to_vec();
    if is_recording {
        line.extend(["-r".into(), after[0].clone()]);
        after = &after[1..];
    } else if after.iter().any(|word| *word == "--") {
        return None;
    } else if named.is_none() {
        line = with_recording(before, &known_recording(settings))?;
    }
    let needs_separator = after.first().is_some_and(|word| *word != "--");
    if needs_separator {
        line.push("--".into());
    }
    line.extend_from_slice(after);
    Some(LineCorrection { needs_recording: is_recording || named.is_none(), needs_separator, line })
}

/// Parses a line, and returns where its recording was named, if it was. Returns `None` if the line
/// is wrong in another way, or has another command.
fn names_recording(command: &mut Command, line: &[OsString]) -> Option<Option<ValueSource>> {
    let source = |(name, matches): (&str, &ArgMatches)| {
        let id = if name == "record" { "recording" } else { "recordings" };
        RUNNERS.contains(&name).then(|| matches.value_source(id))
    };
    match command.try_get_matches_from_mut(line) {
        Ok(matches) => matches.subcommand().and_then(source),
        Err(error) => (error.kind() == ErrorKind::MissingRequiredArgument).then_some(None),
    }
}

/// Returns a line with `-r RECORDING` after its command.
fn with_recording(words: &[OsString], recording: &str) -> Option<Vec<OsString>> {
    let is_runner = |word: &OsString| RUNNERS.iter().any(|name| *word == *name);
    let at = words.iter().skip(1).position(is_runner)? + 2;
    let mut line = words.to_vec();
    line.splice(at..at, ["-r".into(), recording.into()]);
    Some(line)
}

fn known_recording(settings: &Settings) -> String {
    found_recording(settings).unwrap_or_else(|| EXAMPLE.to_owned())
}

/// Returns the recording of the settings, or else the only one in `recordings/`.
fn found_recording(settings: &Settings) -> Option<String> {
    let set =
        RUNNERS.iter().find_map(|name| settings.find_setting(name, "recording")?.values.first());
    let Some(set) = set else { return only_recording(Path::new(FOLDER)) };
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(set).strip_prefix(here).unwrap_or(Path::new(set));
    Some(path.display().to_string())
}

/// Returns the recording in a folder, if there is exactly one.
fn only_recording(folder: &Path) -> Option<String> {
    let is_json = |path: &PathBuf| path.extension() == Some(OsStr::new("json")) && path.is_file();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = entries.map(|entry| entry.path()).filter(is_json);
    let only = found.next().filter(|_| found.next().is_none());
    only.map(|path| path.display().to_string())
}

/// Formats a line for the shell, without credentials.
fn shell_line(words: &[OsString]) -> String {
    let mut hidden = false;
    let mut line = String::from("loomrec");
    for word in words.iter().skip(1) {
        let text = word.to_string_lossy();
        let is_token = text.starts_with("--control-token");
        let shown = match hidden || (is_token && text.contains('=')) || holds_user(&text) {
            true => "…".to_owned(),
            false => quote_word(&text),
        };
        line.push_str(&format!(" {shown}"));
        hidden = is_token && !text.contains('=');
    }
    line
}

/// Whether a text holds an address with a user, and so perhaps a password.
fn holds_user(text: &str) -> bool {
    text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'))
}
