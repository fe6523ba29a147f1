//! The flags of `loomrec convert`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
TO is a folder where it ends in / or is one already, and a file otherwise. In a folder
every entry has a file of its own: branches that record different calls merge without
conflict, and a review shows one call a file. Every command takes either form.

Examples:
  loomrec convert agent.json agent/          # one file into a folder
  loomrec convert agent/ agent.json          # and back
  loomrec convert old.json new.json          # the same entries, in loomrec's own spelling")]
pub struct ConvertArgs {
    /// The recording to read
    #[arg(value_name = "FROM", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub from: RecordingLocation,
    /// The recording to write: FILE, or FOLDER/
    #[arg(value_name = "TO", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub to: RecordingLocation,
    /// Let a recording that is there already give way
    #[arg(long)]
    pub force: bool,
}
