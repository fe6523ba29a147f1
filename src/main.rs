//! The binary's entry: the command line is run, its result is the exit code.

use std::process::ExitCode;

/// Requests come and go on several threads: what one of them frees another takes,
/// which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loomrec::cli::run()
}
