//! The flags of `loomrec diff`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Calls are matched by step id, then by the hash of their requests (takes in order), then by the
most similar request. IDs and dates that providers generate for each answer are not compared.
Differences in times and chunk boundaries are shown, but they do not count.

Exit code 0 if there is no difference that counts, 1 if there is one.

Examples:
  loomrec diff old.json new.json
  loomrec diff old.json new.json --stat
  loomrec diff old.json new.json --ignore request --ignore answer/usage --ignore answer/cost_usd
  loomrec diff old.json new.json --markdown > comment.md")]
pub struct DiffArgs {
    /// The old recording
    #[arg(value_name = "A", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub old: RecordingLocation,
    /// The new recording
    #[arg(value_name = "B", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub new: RecordingLocation,
    /// Ignore a place and everything below it: a JSON pointer into request bodies, a name that diff
    /// prints, such as answer/usage, or request (repeatable)
    #[arg(long, value_name = "POINTER")]
    pub ignore: Vec<String>,
    /// Print one line for each changed call
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub stat: bool,
    /// Print Markdown, for a comment on a pull request
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
