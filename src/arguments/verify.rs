//! The flags of `loomrec verify`.

use clap::{Args, ValueEnum, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Checks for values of the wrong type, hashes that do not match their requests, summaries that
contradict the recorded answers, incomplete answers, credentials of known formats, unknown
fields, and leftover files beside the recording. Without --fix, nothing is changed, and --fix
never guesses.

Exit code 0 if there are no errors (warnings are printed), 1 if there are errors, 4 if a file
cannot be read as a recording at all, 5 if --fix could not write one.

Examples:
  loomrec verify recordings/*.json
  loomrec verify --strict --json recordings/agent.json
  loomrec verify --fix recordings/agent.json && git diff --stat")]
pub struct VerifyArgs {
    /// The recordings (or that of the settings)
    #[arg(
        required = true,
        value_name = "FILE",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// Fix problems, and report each fix; without WHAT, those of safe. In an object store: restore
    /// objects from the cache and from segments
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "safe"
    )]
    pub fix: Option<VerifyFix>,
    /// Of a recording in an object store: read every object; without it, they are only listed
    #[arg(long)]
    pub deep: bool,
    /// Treat warnings as errors; notes stay notes
    #[arg(long)]
    pub strict: bool,
    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
}

/// What `--fix` fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VerifyFix {
    /// What needs no decision
    Safe,
    /// Also a hash that does not match its request: recompute it
    Rehash,
}
