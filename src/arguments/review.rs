//! The flags of `loomrec review`, `accept`, `reject` and `pending`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec review`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys: a accept, r reject, s skip (it goes on waiting); A, R, S the same for all that are left;
d raw JSON or what it means; b back; space, j, k scroll; ? help; q quit. What was decided
before q or Ctrl-C is carried out; nothing else is. Without a terminal the changes are printed,
each with the commands that accept and reject it.

Exit code 0; with --check 1 while anything waits.

Examples:
  loomrec review recordings/agent.json
  loomrec review recordings/agent.json --new tried.json     # of rerecord -o tried.json
  loomrec review recordings/agent.json --check              # in CI")]
pub struct ReviewArgs {
    /// The recording
    #[arg(value_name = "FILE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// Where the changes wait [default: FILE.new]
    #[arg(
        short = 'o',
        long = "new",
        value_name = "FILE.new",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub new: Option<RecordingLocation>,
    /// Print what waits, and exit 1 if there is anything
    #[arg(long)]
    pub check: bool,
    /// Print what waits, in a terminal too
    #[arg(long)]
    pub list: bool,
}

/// `loomrec accept` and `loomrec reject`.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// The recording
    #[arg(value_name = "FILE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// Changes, by the key of the new entry or of the one it replaces, as ls shows them: a
    /// step id, or the beginning of a hash, with every take of it; KEY#2 for one take
    /// [default: all]
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,
    /// Where the changes wait [default: FILE.new]
    #[arg(
        short = 'o',
        long = "new",
        value_name = "FILE.new",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub new: Option<RecordingLocation>,
}

/// `loomrec accept`.
#[derive(Debug, Args)]
#[command(after_help = "\
The new entry has the place of the old one; a new call goes to the end. Nothing else in FILE
changes. A change whose old entry has changed since, or is gone, is a conflict: it is refused.
So is a failed call (status 400 and above, or cut) in the place of one that succeeded; the
others are accepted, and the exit code is 1.

Examples:
  loomrec accept recordings/agent.json
  loomrec accept recordings/agent.json plan 3f2c9a1b")]
pub struct AcceptArgs {
    /// What is accepted.
    #[command(flatten)]
    pub decide: DecideArgs,
    /// Accept conflicts too: what stands there now gives way
    #[arg(long)]
    pub force: bool,
    /// Let a call that failed replace a take that succeeded
    #[arg(long)]
    pub keep_failures: bool,
}

/// `loomrec reject`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE stays as it is; the changes are dropped from FILE.new, which goes with the last of them.

Examples:
  loomrec reject recordings/agent.json
  loomrec reject recordings/agent.json plan")]
pub struct RejectArgs {
    /// What is rejected.
    #[command(flatten)]
    pub decide: DecideArgs,
}

/// `loomrec pending`.
#[derive(Debug, Args)]
#[command(after_help = "\
Two things wait: requests for their answers (FILE.pending, of replay --pending), and answers
for their review (FILE.new, of rerecord).

Exit code 0; with --check 1 while anything waits.

Examples:
  loomrec pending
  loomrec pending recordings/*.json --check                 # in CI")]
pub struct PendingArgs {
    /// The recordings [default: those in this folder and in recordings/]
    #[arg(value_name = "FILE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub files: Vec<RecordingLocation>,
    /// Where the changes of the one FILE wait [default: FILE.new]
    #[arg(
        short = 'o',
        long = "new",
        value_name = "FILE.new",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub new: Option<RecordingLocation>,
    /// Exit 1 if anything waits
    #[arg(long)]
    pub check: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
