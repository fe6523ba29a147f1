//! The runner of loomrec's commands within this process, on files of the scratch folder.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use loomrec_cli::exit::CommandFailure;
use loomrec_cli::fuzzing;

use crate::scratch;

/// A command that can be run repeatedly.
type Command = Rc<dyn Fn() -> Result<u8, CommandFailure>>;

thread_local! {
    /// Commands by their command line, parsed once.
    static COMMANDS: RefCell<HashMap<String, Command>> = RefCell::default();
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
        let parse = || -> Command {
            let words: Vec<&str> = line.split(' ').collect();
            Rc::new(fuzzing::command(&words).expect("a command that a target can run"))
        };
        Rc::clone(commands.entry(line.clone()).or_insert_with(parse))
    });
    match command() {
        Ok(code) => code,
        Err(failure) => {
            assert!((1..=6).contains(&failure.code), "an exit code of the table");
            assert!(!failure.message.is_empty() && failure.message.len() < 4096);
            failure.code
        }
    }
}
