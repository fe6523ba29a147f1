//! The runner of loomrec's commands within this process, on files of the scratch folder.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use clap::Parser as _;
use loomrec_arguments::{Cli, Command};
use loomrec_cli::exit::CommandFailure;
use loomrec_file_commands::{diff, journal, ls, noise, prune, redact, review, show, stats, verify};
use loomrec_run_commands::commands::score;

use crate::scratch;

/// A command line that has been parsed.
type ParsedCommand = Rc<Command>;

thread_local! {
    /// Commands by their command line, parsed once.
    static COMMANDS: RefCell<HashMap<String, ParsedCommand>> = RefCell::default();
}

/// Runs `words` on a file. Returns the exit code. Checks that a failure has a message of a bounded
/// length.
///
/// # Panics
/// If the words are not a command, or a message is empty or too long.
pub fn run(words: &str, file: &str) -> u8 {
    let path = scratch::folder().join(file);
    let line = format!("loomrec {words} {}", path.display());
    let command = COMMANDS.with_borrow_mut(|commands| {
        let parse = || {
            let cli = Cli::try_parse_from(line.split(' ')).expect("a valid command line");
            Rc::new(cli.command)
        };
        Rc::clone(commands.entry(line.clone()).or_insert_with(parse))
    });
    match run_parsed(&command) {
        Ok(code) => code,
        Err(failure) => {
            assert!((1..=6).contains(&failure.code), "an exit code of the table");
            assert!(!failure.message.is_empty() && failure.message.len() < 4096);
            failure.code
        }
    }
}

/// Runs a command that ends by itself and needs no runtime: only those can be run repeatedly.
fn run_parsed(command: &Command) -> Result<u8, CommandFailure> {
    match command {
        Command::Ls(args) => ls::run(args),
        Command::Show(args) => show::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Noise(args) => noise::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Review(args) if args.list => review::print_list(args),
        Command::Verify(args) => verify::run(args),
        Command::Prune(args) => prune::run(args),
        Command::Redact(args) => redact::run(args),
        Command::Journal(args) if args.recovery.is_some() => score(args),
        Command::Journal(args) => journal::run(args),
        other => panic!("not run by a target: {other:?}"),
    }
}
