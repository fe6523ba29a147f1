//! Puts settings where flags that were not given would be.

use clap::{Arg, ArgAction, Command};

use super::Settings;

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingType {
    /// `true` or `false`.
    Switch,
    /// One value.
    One,
    /// Any number of values.
    Many,
}

/// Whether a flag can be set in a file: it has a twin in the environment, and is no
/// secret.
pub fn settable(arg: &Arg) -> bool {
    let named = arg.get_long().is_some_and(|long| long != "config");
    named && arg.get_env().is_some() && !arg.is_hide_env_values_set()
}

pub(super) fn kind(arg: &Arg) -> SettingType {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => SettingType::Switch,
        ArgAction::Append => SettingType::Many,
        _ => SettingType::One,
    }
}

/// Whether the file's values add to those that were given otherwise, where there are
/// any: rules and upstreams do, a recording does not.
pub fn adds_up(name: &str) -> bool {
    let rules = matches!(name, "ignore" | "identity-header" | "ignore-header" | "redact");
    rules || matches!(name, "upstream" | "no-env" | "allow-host" | "allow-origin")
}

/// The command line, with what the file sets as the defaults of its flags.
pub fn into_command(settings: &Settings, command: Command) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| {
            sub.mut_args(|arg| {
                let long = arg.get_long().unwrap_or_default().to_owned();
                let entry = settings.of(&name, &long).filter(|_| settable(&arg) && !adds_up(&long));
                match entry {
                    Some(entry) => arg.default_values(entry.values.clone()).required(false),
                    None => arg,
                }
            })
        })
    })
}
