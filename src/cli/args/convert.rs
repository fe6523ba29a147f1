//! The flags of `loomrec convert`.

use std::path::PathBuf;

use clap::Args;

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
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// The recording to write: FILE, or FOLDER/
    #[arg(value_name = "TO")]
    pub to: PathBuf,
    /// Let a recording that is there already give way
    #[arg(long)]
    pub force: bool,
}
