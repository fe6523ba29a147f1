//! The help of loomrec, which lists the commands in groups; and the two forms of help that `record`
//! and `replay` have: `--help` with the flags that most people need, and `--help-all` with all of
//! them.

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

/// The commands, in the groups of the help and of docs/cli.md.
pub const COMMAND_GROUPS: [(&str, &[&str]); 6] = [
    ("Record and replay", &["record", "replay", "mcp", "demo"]),
    ("Look at recordings and runs", &["ls", "show", "stats", "diff", "journal", "ui"]),
    ("Renew answers", &["rerecord", "review"]),
    ("Change and check recordings", &["verify", "edit", "merge", "prune", "redact", "noise"]),
    ("Object stores and other tools", &["push", "pull", "gc", "import", "export"]),
    ("Settings and setup", &["config", "trust", "doctor"]),
];

/// The columns of the list of commands.
const COLUMNS: usize = 96;

/// Returns the definition of the command line with its commands in groups.
pub(super) fn with_groups(command: Command) -> Command {
    let mut list = String::new();
    for (title, names) in COMMAND_GROUPS {
        list.push_str(&format!("\n{title}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list.push_str(&format!("  {}\n", wrap_line(&format!("{name:<10}"), &about)));
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Returns a line of the list of commands, on as many lines as it needs.
fn wrap_line(name: &str, about: &str) -> String {
    let (mut text, mut column) = (name.to_owned(), name.len());
    for word in about.split(' ') {
        if column + word.len() > COLUMNS {
            text.push_str(&format!("\n{:12}", ""));
            column = name.len();
        } else if column > name.len() {
            text.push(' ');
        }
        text.push_str(word);
        column += word.len() + 1;
    }
    text
}

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
