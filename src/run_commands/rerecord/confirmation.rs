//! The question before calls are sent.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::collect::CollectedCalls;
use crate::args::RerecordArgs;
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::Output;

/// Asks the user whether to go on, unless `--yes` is given.
pub(super) fn confirm(
    args: &RerecordArgs,
    collected: &CollectedCalls,
    total: usize,
    output: &Output,
) -> Result<(), CommandFailure> {
    output.disclose_report(&collected.to_text());
    let difference = collected.destinations.describe_moved_calls();
    if args.yes {
        difference.iter().for_each(|text| output.warning(text));
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CommandFailure::usage(match difference {
            None => "nothing was sent: without a terminal to ask on, --yes is needed (--dry-run \
                     shows what would be sent)"
                .to_owned(),
            Some(text) => format!(
                "nothing was sent: {text}. Without a terminal to ask on, --yes is needed; to send \
                 the calls where they were recorded, add {}",
                collected.destinations.upstream_flags()
            ),
        }));
    }
    let calls = if total == 1 { "this call".to_owned() } else { format!("these {total} calls") };
    let cost = collected.plan.cost_text();
    let mut asked = Ok(());
    if let Some(text) = difference {
        asked = writeln!(io::stderr(), "{text}");
    }
    let asked = asked.and_then(|()| write!(io::stderr(), "Send {calls} ({cost})? [y/N] "));
    let mut answer = String::new();
    let read = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    match read {
        Ok(_) if yes => Ok(()),
        Ok(_) => Err(CommandFailure::new(NO, "nothing was sent")),
        Err(error) => {
            Err(CommandFailure::new(UNEXPECTED, format!("failed to read the answer: {error}")))
        }
    }
}
