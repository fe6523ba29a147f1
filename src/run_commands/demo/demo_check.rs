//! The checks of what the demo shows, and its failure.

use loomrec_cli::exit::{CommandFailure, UNEXPECTED};

/// Fails the demo if something that it shows does not hold.
pub(super) fn check_demo(holds: bool, otherwise: &str) -> Result<(), CommandFailure> {
    if holds { Ok(()) } else { Err(demo_failure(otherwise)) }
}

/// Returns the demo's failure.
pub(super) fn demo_failure(what: &str) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("the demo failed: {what}"))
}
