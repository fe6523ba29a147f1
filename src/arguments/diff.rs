//! The flags of `loomrec diff`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Calls are matched by step id, then by the hash of their requests (takes in order), then to
the nearest request. Ids and dates that a provider makes up anew are not compared; times
and chunk boundaries are told and do not count without --times.

Exit code 0 when nothing that counts differs, 1 when something does.

Examples:
  loomrec diff old.json new.json
  loomrec diff old.json new.json --stat
  loomrec diff old.json new.json --answers-only --ignore answer/usage --ignore answer/cost_usd
  loomrec diff old.json new.json --markdown > comment.md")]
pub struct DiffArgs {
    /// The recording to compare from
    #[arg(value_name = "A", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub old: RecordingLocation,
    /// The recording to compare with it
    #[arg(value_name = "B", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub new: RecordingLocation,
    /// Leave a place out: a JSON pointer into request bodies, or a place as diff names it
    /// (answer/usage, response/headers, step_id), with what is below it (repeatable)
    #[arg(long, value_name = "POINTER")]
    pub ignore: Vec<String>,
    /// Compare answers alone
    #[arg(long, conflicts_with = "requests_only")]
    pub answers_only: bool,
    /// Compare requests alone
    #[arg(long)]
    pub requests_only: bool,
    /// Let times, chunks and sizes count
    #[arg(long)]
    pub times: bool,
    /// A line for each call that changed
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub stat: bool,
    /// As Markdown, for a comment on a pull request
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Do not start the pager ($PAGER, or less) on a terminal
    #[arg(long)]
    pub no_pager: bool,
}
