//! The `--prices` flag: the built-in price table, and the user's own.

use std::path::Path;

use super::exit::CommandFailure;
use loomrec_recording::cost::PriceTable;

/// Loads the price table: the built-in one, or the built-in one as changed by `file`.
///
/// # Errors
/// A file that cannot be read, or is not a price table, with the model and the field that are wrong
/// and what is expected.
pub fn load(file: Option<&Path>) -> Result<PriceTable, CommandFailure> {
    let Some(path) = file else { return Ok(PriceTable::builtin()) };
    let wrong = |why: String| CommandFailure::usage(format!("--prices {}: {why}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("failed to read it: {error}")))?;
    PriceTable::with_user_prices(&text).map_err(|error| wrong(format!("failed to {error}")))
}
