//! Settings as the defaults of flags.

use clap::Command;

use super::Settings;
use super::default_recording::with_default_recording;
use super::setting_type::is_settable;

/// Whether the file's values are added to those from other sources. This holds for rules and
/// upstreams, but not for a recording.
pub fn adds_up(name: &str) -> bool {
    let rules = matches!(name, "ignore" | "identity-header" | "redact");
    rules
        || matches!(name, "credential-param" | "normalize")
        || matches!(name, "upstream" | "no-env" | "public-url" | "allow-origin")
}

/// Returns the name in `NAME=URL`; `None` if there is none, as in an address for everything. An
/// address that is given replaces the file's address of the same name.
pub fn upstream_name(text: &str) -> Option<&str> {
    text.split_once('=').map(|(name, _)| name)
}

/// Returns the command line with the file's settings as the defaults of its flags.
pub fn into_command(settings: &Settings, command: Command) -> Command {
    let command = with_default_recording(settings, command);
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| {
            sub.mut_args(|arg| {
                let long = arg.get_long().unwrap_or_default().to_owned();
                let entry = settings
                    .find_setting(&name, &long)
                    .filter(|_| is_settable(&arg) && !adds_up(&long));
                match entry {
                    Some(entry) => arg.default_values(entry.values.clone()).required(false),
                    None => arg,
                }
            })
        })
    })
}
