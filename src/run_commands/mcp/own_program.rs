//! The path of this program, which is the server of declared tools, and the command of a run with
//! faults.

use std::path::PathBuf;

use loomrec_cli::exit::{CommandFailure, UNEXPECTED};

/// Returns the path.
///
/// # Errors
/// A system that does not know it.
pub(super) fn own_program() -> Result<PathBuf, CommandFailure> {
    std::env::current_exe().map_err(|error| {
        CommandFailure::new(UNEXPECTED, format!("failed to find this program: {error}"))
    })
}
