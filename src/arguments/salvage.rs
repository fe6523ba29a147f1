//! The flags of `loomrec salvage`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec salvage`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE may be a recording that was cut or overwritten in places, a folder with files that were,
a log (FILE.log, FILE.folding), or what was set aside of one (FILE.log.torn-1). It stays as
it is. Every entry that can be read whole goes into OUT; what is lost is told by place, and by
key where that can be read. Run loomrec verify on OUT before you trust it.

Exit code 0 when nothing was lost, 1 when something was, 4 when nothing could be read.

Examples:
  loomrec salvage recordings/agent.json -o recordings/saved.json
  loomrec salvage recordings/agent.json.log.torn-1 -o torn.json --json")]
pub struct SalvageArgs {
    /// The damaged recording or log
    #[arg(value_name = "FILE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The recording to make
    #[arg(
        short,
        long,
        value_name = "OUT",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: RecordingLocation,
    /// Replace OUT where it is there
    #[arg(long)]
    pub force: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
