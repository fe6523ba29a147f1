//! Rules of recordings that could reach more than what a program makes.

use std::collections::BTreeSet;

use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_cli::output::Output;
use loomrec_engine::replay::Matcher;

/// Refuses such rules if the replay is strict. Otherwise they hold for nothing, which is said.
///
/// # Errors
/// There is one, and the replay is strict.
pub(super) fn refuse(
    is_strict: bool,
    matcher: &Matcher,
    output: &Output,
) -> Result<(), CommandFailure> {
    let refused: BTreeSet<String> = matcher.refused_rules().collect();
    for why in refused {
        if is_strict {
            let text = format!("a rule of the recording is refused: failed to {why}");
            return Err(CommandFailure::new(RECORDING, text));
        }
        output.warning(&format!("a rule of the recording holds for nothing: failed to {why}"));
    }
    Ok(())
}
