//! The two forms of help that `record` and `replay` have: `--help` with the flags that most people
//! need, and `--help-all` with all of them.

use clap::{Arg, ArgAction, Command};

/// The argument that asks for all flags.
pub const HELP_ALL: &str = "--help-all";

/// The flags in the brief help of `record`, in its order.
const RECORD: &[&str] = &["recording", "mode", "upstream", "redact", "ignore", "keep_failures"];

/// The flags in the brief help of `replay`, in its order.
const REPLAY: &[&str] = &[
    "recordings",
    "strict",
    "fail_unused",
    "pending",
    "script",
    "latency",
    "speed",
    "repeat",
    "ignore",
    "redact",
];

/// The flags in the brief help of both, behind their own.
const BOTH: &[&str] = &[
    "allow_empty",
    "receipt",
    "summary",
    "journal",
    "listen",
    "print_env",
    "quiet",
    "verbose",
    "help",
    "help-all",
    "fault",
    "faults",
    "chaos",
    "seed",
    "recovery",
];

/// Returns the definition of the command line with both forms of help.
pub(super) fn with_two_forms(command: Command) -> Command {
    command
        .mut_subcommand("record", |record| with_brief_help(record, RECORD))
        .mut_subcommand("replay", |replay| with_brief_help(replay, REPLAY))
}

/// Makes `--help` show these flags, and adds `--help-all`.
fn with_brief_help(command: Command, flags: &[&str]) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let all = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong);
    let command = command
        .disable_help_flag(true)
        .arg(help.help("Print help: the flags that most people need"))
        .arg(all.help("Print help: every flag"));
    command.mut_args(|arg| {
        let place = flags.iter().chain(BOTH).position(|flag| *flag == arg.get_id().as_str());
        match place {
            Some(place) => arg.display_order(place),
            None if arg.is_positional() => arg,
            None => arg.hide_short_help(true).display_order(flags.len() + BOTH.len()),
        }
    })
}
