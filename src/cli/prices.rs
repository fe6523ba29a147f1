//! `--prices`: what calls cost, by the built-in table and the user's own.

use std::path::Path;

use super::exit::CommandFailure;
use crate::recording::cost::PriceTable;

/// The price table: the built-in one, or what `file` makes of it.
///
/// # Errors
/// A file that cannot be read, or is no price table: which model and field is wrong,
/// and what belongs there.
pub(super) fn load(file: Option<&Path>) -> Result<PriceTable, CommandFailure> {
    let Some(path) = file else { return Ok(PriceTable::builtin()) };
    let wrong = |why: String| CommandFailure::usage(format!("--prices {}: {why}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("failed to read it: {error}")))?;
    PriceTable::own(&text).map_err(|error| wrong(format!("failed to {error}")))
}
