//! The flags of `loomrec ls`, `show`, `stats`, `score`, `demo`, `config` and `doctor`.

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
    /// The entry: a step id, or the beginning of a hash; HASH#2 for its second take. Optional if
    /// there is only one entry
    pub key: Option<String>,
    /// Print text that can be compared line by line, for git's textconv; without KEY, print
    /// all entries
    #[arg(long, conflicts_with = "json")]
    pub text: bool,
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
  loomrec stats run.json --prices mine.json     # what the same tokens cost elsewhere
  loomrec stats run.json --cache --check        # in CI: no prompt may break its cache")]
pub struct StatsArgs {
    /// The recordings; several are summarized together (or that of the settings)
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

/// `loomrec score`.
#[derive(Debug, Args)]
#[command(after_help = "\
For each fault, prints the time until the program noticed it (it closed the connection, or made
the same call again), and the time until the same call succeeded. A fault that only delays an
answer is listed, but the budget does not apply to it.

Exit code 0 if the budget was kept, 1 if it was missed. It is also missed if no fault happened.

Examples:
  loomrec replay -r agent.json --journal run.jsonl -- pytest
  loomrec score run.jsonl
  loomrec score run.jsonl --recovery max_detection_ms=3000,max_recovery_ms=5000
  loomrec score run.jsonl --recovery budget.json --junit recovery.xml")]
pub struct ScoreArgs {
    /// The journal of a run (--journal), or marks of your own: a JSON list, or a YAML file; `-` for
    /// stdin
    pub journal: PathBuf,
    /// The budget: max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout, or a file with
    /// these members (.json, .yaml, .yml)
    #[arg(long, value_name = "BUDGET")]
    pub recovery: Option<String>,
    /// Do not fail if no fault put the budget to the test
    #[arg(long)]
    pub allow_unfired: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the verdict as JUnit XML, with one test case per fault
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// `loomrec demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the recording of the demo in this file
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
}

/// `loomrec config`.
#[derive(Debug, Args)]
#[command(after_help = "\
A flag takes precedence over the environment, and the environment over loomrec.toml; rules and
upstreams are combined. In loomrec.toml, set any flag that has an environment variable, except
--control-token, by its long name:

  recording = \"recordings/agent.json\"     # paths are relative to the file
  ignore = [\"/user\"]
  [upstreams]
  openai = \"https://gateway.example.com\"
  [replay]
  latency = \"replay\"")]
pub struct ConfigArgs {
    /// Show only the settings of this command
    #[arg(value_parser = ["record", "replay"])]
    pub command: Option<String>,
    /// Also show the flags that have their defaults; --json always has them
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl ConfigArgs {
    /// Whether a command's settings are asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.command.as_ref().map_or(matches!(name, "record" | "replay"), |only| only == name)
    }
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
