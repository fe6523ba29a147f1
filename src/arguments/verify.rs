//! The flags of `loomrec verify`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Looked for: values of the wrong type, hashes that are not those of their requests, summaries
that say something else than the recorded answers, answers without their end, credentials
(known shapes; and long runs of chance, which are warnings), fields nobody knows, and files
left beside the recording. Nothing is changed without --fix, and --fix never guesses.

Exit code 0 when all is well (warnings are told), 1 when something is wrong, 4 when a file
cannot be read as a recording at all (see loomrec salvage).

Examples:
  loomrec verify recordings/*.json
  loomrec verify --strict --json recordings/agent.json
  loomrec verify --fix recordings/agent.json && git diff --stat")]
pub struct VerifyArgs {
    /// The recordings
    #[arg(
        required = true,
        value_name = "FILE",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// Mend what is mechanical: keys and hashes, summaries, known credentials, spelling,
    /// takes' numbers, a log that was left; and say each
    #[arg(long)]
    pub fix: bool,
    /// With --fix: where a request and its hash do not fit, make the hash anew
    #[arg(long, requires = "fix")]
    pub rehash: bool,
    /// Let warnings be errors
    #[arg(long)]
    pub strict: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    /// As JSON
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
}
