//! The entry point of the binary: runs the command line and returns its exit code.

use std::process::ExitCode;

/// Requests are handled on several threads: memory that one thread frees is taken by another. The
/// system's allocator is slow at this.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loomrec::cli::run()
}
