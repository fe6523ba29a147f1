//! The flags of `loomrec convert`.

use clap::{Args, ValueHint};

use super::location::{local_location, location};
use loomrec_store::RecordingLocation;

/// `loomrec convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
TO is a folder if it ends in / or if a folder of that name exists; otherwise it is a file. In
a folder, every entry has its own file: branches that record different calls merge without
conflict, and a code review shows one call per file. Commands accept both forms, except merge --git:
git itself merges the files of a folder one by one.

Examples:
  loomrec convert agent.json agent/          # from a file to a folder
  loomrec convert agent/ agent.json          # and back
  loomrec convert old.json new.json          # the same entries, as loomrec writes them")]
pub struct ConvertArgs {
    /// The recording to read
    #[arg(value_name = "FROM", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub from: RecordingLocation,
    /// The recording to write: FILE or FOLDER/
    #[arg(value_name = "TO", value_parser = local_location(), value_hint = ValueHint::AnyPath)]
    pub to: RecordingLocation,
    /// Replace an existing recording
    #[arg(long)]
    pub force: bool,
}
