//! The flags of `loomrec salvage`.

use clap::{Args, ValueHint};

use super::location::local_location;
use loomrec_store::RecordingLocation;

/// `loomrec salvage`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE may be a recording that is cut off or partly overwritten, a folder with such files, a log
(in the folder .loomrec beside a recording: NAME.log, NAME.folding), or a part of a log that was
set aside there (NAME.log.torn-1). FILE does not change. Every entry that can be read completely goes into OUT. Losses are reported by position,
and by key if it is readable. Run loomrec verify on OUT before you trust it.

Exit code 0 if nothing was lost, 1 if something was lost, 4 if nothing could be read.

Examples:
  loomrec salvage recordings/agent.json -o recordings/saved.json
  loomrec salvage recordings/.loomrec/agent.json.log.torn-1 -o torn.json --json")]
pub struct SalvageArgs {
    /// The damaged recording or log (or that of the settings)
    #[arg(value_name = "FILE", value_parser = local_location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The recording to create
    #[arg(
        short,
        long,
        value_name = "OUT",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: RecordingLocation,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
