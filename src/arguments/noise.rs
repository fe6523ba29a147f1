//! The flags of `loomrec noise`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec noise`.
#[derive(Debug, Args)]
#[command(after_help = "\
A and B are recordings of the same run, made twice: by another user, in another directory, on
another day. What the values of both runs explain needs no rule. For the rest, the fewest rules
for ids, times and the like are proposed. A difference in words, in structure or in the number of
messages is refused, and so is a rule that would merge calls with different answers.

Exit code 0 if everything is explained, 1 if a difference stays unexplained.

Examples:
  loomrec noise recordings/agent.json again.json
  loomrec noise recordings/agent.json again.json --apply
  loomrec noise recordings/agent.json --pending       # what replay --pending has kept")]
pub struct NoiseArgs {
    /// The recording that rules are proposed for
    #[arg(value_name = "A", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// A recording of the same run, or requests that a replay of A has missed
    #[arg(
        value_name = "B",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
        required_unless_present = "pending"
    )]
    pub other: Option<RecordingLocation>,
    /// Compare with the requests that `loomrec replay --pending` kept
    #[arg(long, conflicts_with = "other")]
    pub pending: bool,
    /// Write the rules into A
    #[arg(long)]
    pub apply: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
