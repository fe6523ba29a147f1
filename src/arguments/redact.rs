//! The flags of `loomrec redact`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec redact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Requests, answers, step ids and whatever else the files hold are freed of keys of well-known
shape and of what --redact matches, as record does it; the keys of requests that change are
made anew. Nothing is changed without --apply. To find these calls again, replay and record
need the same --redact, best in loomrec.toml: redact = ['…'].

Exit code 0 when all is clean or can be made so, 1 when something cannot be removed.

Examples:
  loomrec redact recordings/*.json                              # what would change
  loomrec redact recordings/*.json --redact 'CUST-[0-9]{6}' --apply")]
pub struct RedactArgs {
    /// The recordings
    #[arg(
        value_name = "FILE",
        required = true,
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// Replace what this regular expression matches (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    pub redact: Vec<String>,
    /// Do it
    #[arg(long)]
    pub apply: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
