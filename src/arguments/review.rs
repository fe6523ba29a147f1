//! The flags of `loomrec review`.

use clap::{ArgGroup, Args, ValueHint};

use super::location::local_location;
use loomrec_store::RecordingLocation;

/// `loomrec review`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("listing").args(["list", "check"]).multiple(true))]
#[command(group = ArgGroup::new("deciding").args(["accept", "reject"]).conflicts_with("listing"))]
#[command(after_help = "\
Keys: a accept, r reject, s skip (the change stays pending); A, R, S the same for all remaining
changes; d raw JSON on or off; b previous change; space, j, k scroll; ? help; q quit. Decisions
made before q or Ctrl-C are applied, and no others. Without a terminal, the changes are printed,
each with the commands that accept and reject it.

KEY is that of the new or the replaced entry: a step id or the beginning of a hash for all its
takes; KEY#2 for one take. An accepted entry replaces the old one in the same place; a new call
goes to the end. A change is in conflict if its old entry has changed since, or is gone: then
nothing is accepted, unless --force is given. A failed call (status 400 and above, or cut off)
replaces one that succeeded only with --keep-failures: without it, the other changes are accepted,
and the exit code is 1. What is rejected is removed from FILE.new; FILE does not change.

Two things can be pending, and --list shows both: requests without an answer (from replay
--pending), and new answers that are not reviewed yet (FILE.new, from rerecord).

Exit code 0; with --check, 1 if anything is pending.

Examples:
  loomrec review recordings/agent.json
  loomrec review recordings/agent.json --accept             # all changes
  loomrec review recordings/agent.json --reject plan 3f2c9a1b
  loomrec review recordings/agent.json --output tried.json     # from rerecord -o tried.json
  loomrec review --list
  loomrec review recordings/*.json --check                  # in CI")]
pub struct ReviewArgs {
    /// The recording, or a folder: the recordings in it one after the other; with another flag,
    /// several [default: that of the settings; with --list, also those in this folder and in
    /// recordings/]
    #[arg(value_name = "FILE", value_parser = local_location(), value_hint = ValueHint::AnyPath)]
    pub files: Vec<RecordingLocation>,
    /// The recording of the settings, if --list is given and no FILE is.
    #[arg(skip)]
    pub configured: Option<RecordingLocation>,
    /// The file with the pending changes, which rerecord -o wrote [default: FILE.new]
    #[arg(
        short,
        long,
        value_name = "FILE.new",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,
    /// List what is pending, and review nothing
    #[arg(long)]
    pub list: bool,
    /// As --list, and exit 1 if anything is pending
    #[arg(long)]
    pub check: bool,
    /// Print the list as JSON
    #[arg(long, requires = "listing")]
    pub json: bool,
    /// Accept the changes with these keys, or all; name the recording before this flag
    #[arg(long, value_name = "KEY", num_args = 0..)]
    pub accept: Option<Vec<String>>,
    /// Reject the changes with these keys, or all; name the recording before this flag
    #[arg(long, value_name = "KEY", num_args = 0..)]
    pub reject: Option<Vec<String>>,
    /// Also accept changes in conflict; they replace the current entries
    #[arg(long, requires = "accept")]
    pub force: bool,
    /// Let a failed call replace a take that succeeded
    #[arg(long, requires = "accept")]
    pub keep_failures: bool,
}
