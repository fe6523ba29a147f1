//! The binary's entry: the command line is run, its result is the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    loomrec::cli::run()
}
