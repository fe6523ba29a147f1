//! The `--prices` flag: the built-in price table, and the user's own.

use std::path::Path;

use super::exit::CommandFailure;
use loomrec_recording::cost::PriceTable;

/// The most bytes of a price table.
const LARGEST: u64 = 16 << 20;

/// Loads the price table: the built-in one, or the built-in one as changed by `file`.
///
/// # Errors
/// A file that cannot be read, or is not a price table, with the model and the field that are wrong
/// and what is expected.
pub fn load_table(file: Option<&Path>) -> Result<PriceTable, CommandFailure> {
    let Some(path) = file else { return Ok(PriceTable::built_in()) };
    let wrong = |why: String| CommandFailure::usage(format!("--prices {}: {why}", path.display()));
    let unreadable = |error: &dyn std::fmt::Display| wrong(format!("failed to read it: {error}"));
    let bytes = loomrec_os::read_input(path, LARGEST).map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| unreadable(&error))?;
    PriceTable::with_user_prices(&text).map_err(|error| wrong(format!("failed to {error}")))
}
