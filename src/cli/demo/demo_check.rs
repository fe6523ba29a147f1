//! The checks of what the demo shows, and the failure where it does not hold.

use crate::cli::exit::{CommandFailure, UNEXPECTED};

/// Fails the demo where what it shows is not so.
pub(super) fn check(holds: bool, otherwise: &str) -> Result<(), CommandFailure> {
    if holds { Ok(()) } else { Err(broken(otherwise)) }
}

/// The demo's own failure.
pub(super) fn broken(what: &str) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("the demo failed: {what}"))
}
