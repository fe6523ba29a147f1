//! The definition of the command line, as this process uses it.

use super::args;

/// Returns the command without the environment variables that are set but empty. CI systems set
/// variables in this way if they have no value.
pub fn without_empty_variables(command: clap::Command) -> clap::Command {
    let names: Vec<String> =
        command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    let is_empty =
        |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let without_empty = |arg: clap::Arg| match arg.get_env().is_some_and(is_empty) {
        true => arg.env(None::<&str>),
        false => arg,
    };
    names.into_iter().fold(command.mut_args(without_empty), |command, name| {
        command.mut_subcommand(name, |subcommand| subcommand.mut_args(without_empty))
    })
}

/// Returns the command with the values of environment variables hidden in its help: an address may
/// contain a password, and help goes into logs. The brief help of `record` and `replay` does not
/// name the variables either.
pub fn without_values_in_help(command: clap::Command) -> clap::Command {
    let brief = |name: &str| {
        matches!(name, "record" | "replay")
            && !std::env::args_os().any(|word| word == args::HELP_ALL)
    };
    let names: Vec<String> =
        command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let hide_env = brief(&name);
        command.mut_subcommand(name, |subcommand| {
            subcommand.mut_args(|arg| arg.hide_env_values(true).hide_env(hide_env))
        })
    })
}
