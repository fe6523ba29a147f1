//! The flags of `loomrec ls`, `show`, `stats`, `demo` and `doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// The recording (or that of the settings), or a prefix of an object store,
    /// s3://BUCKET/PREFIX/, to list the recordings below it
    #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// Recompute the costs with these prices per model (JSON)
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Print all columns, and all that each call asks
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loomrec show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The recording (or that of the settings)
    #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The entry: a step id, or the beginning of a hash; HASH#2 for its second take. Without it, all
    /// entries are printed, as text that can be compared line by line: for git's textconv
    pub key: Option<String>,
    /// Also print what an earlier call of the conversation had already; --json always has it
    #[arg(long)]
    pub full: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loomrec stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
Times are those of calls that did not fail (status below 400, not cut off): the time until the
whole answer, and until the first chunk of a stream. Each percentile is a recorded time.

Examples:
  loomrec stats recordings/agent.json
  loomrec stats recordings/*.json --by model --json
  loomrec stats monday.jsonl tuesday.jsonl      # of journals
  loomrec stats run.json --prices mine.json     # what the same tokens cost elsewhere
  loomrec stats run.json --cache --check        # in CI: no prompt may break its cache")]
pub struct StatsArgs {
    /// The recordings (or that of the settings), or the journals that --journal wrote; several are
    /// summarized together
    #[arg(
        required = true,
        value_name = "FILE",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// How to group calls [default: upstream and model]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Option<StatsBy>,
    /// Recompute the cost with these prices, instead of using the recorded cost
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Report the prompt cache instead: for each conversation, the tokens that were read from it,
    /// and the first place where the beginning of a prompt changed
    #[arg(long, conflicts_with = "by")]
    pub cache: bool,
    /// With --cache: exit 1 if the beginning of a prompt changed
    #[arg(long, requires = "cache")]
    pub check: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How to group calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsBy {
    /// The model that answered
    Model,
    /// The upstream
    Upstream,
    /// The step id
    Step,
    /// The session
    Session,
}

/// `loomrec demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the recording of the demo in this file
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
}

/// `loomrec doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 0 if there are no problems, or only warnings; 1 if there is a problem. Without
--online, nothing leaves this machine.")]
pub struct DoctorArgs {
    /// Recordings to check [default: the one that LOOMREC_RECORDING or loomrec.toml names]
    #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub files: Vec<RecordingLocation>,
    /// Also check that each upstream can be reached, and accepts the API key that is set for it
    #[arg(long)]
    pub online: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
