//! The checks of what the demo shows, and its failure.

use loomrec_cli::exit::{CommandFailure, UNEXPECTED};

/// Fails the demo if something that it shows does not hold.
pub(super) fn check(holds: bool, otherwise: &str) -> Result<(), CommandFailure> {
    if holds { Ok(()) } else { Err(broken(otherwise)) }
}

/// Returns the demo's failure.
pub(super) fn broken(what: &str) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("the demo failed: {what}"))
}
