//! The flags of `loomrec ls`, `show`, `stats`, `score`, `demo`, `config` and `doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// The recording
    #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// Work the costs out anew, by these prices per model (JSON)
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `loomrec show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The recording
    #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The entry: a step id, or the beginning of a hash; HASH#2 for its second take.
    /// Not needed when there is only one
    pub key: Option<String>,
    /// As text to be compared line by line, of all entries where no KEY is given: what
    /// git's textconv wants
    #[arg(long, conflicts_with = "json")]
    pub text: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `loomrec stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
Times are those of answers that did not fail (no status of 400 or above, not cut): the
whole answer, and the first chunk of a stream. Percentiles are times that were recorded.

Examples:
  loomrec stats recordings/agent.json
  loomrec stats recordings/*.json --by model --json
  loomrec stats run.json --prices mine.json     # what the same tokens cost elsewhere")]
pub struct StatsArgs {
    /// The recordings; several are summed up together
    #[arg(
        required = true,
        value_name = "FILE",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// What calls are put together by [default: upstream and model]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Option<StatsBy>,
    /// Work the cost out anew by these prices, in place of what was recorded
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// What calls are put together by.
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
Each fault is told with the time until the program noticed (it left the connection, or came
again for the same call) and until the same call was answered well. A fault that only
delays an answer is listed, and not held to the budget.

Exit code 0 when the budget was kept, 1 when it was missed, or no fault struck at all.

Examples:
  loomrec replay -r agent.json --journal run.jsonl -- pytest
  loomrec score run.jsonl
  loomrec score run.jsonl --recovery max_detection_ms=3000,max_recovery_ms=5000
  loomrec score run.jsonl --budget budget.json --junit recovery.xml")]
pub struct ScoreArgs {
    /// The journal that a run wrote (--journal)
    pub journal: PathBuf,
    /// What each fault is held to: a JSON or YAML file with max_detection_ms and, where it
    /// is asked for, max_recovery_ms and require_clean_timeout
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,
    /// The same in one line: max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout
    #[arg(long, value_name = "BUDGET", conflicts_with = "budget")]
    pub recovery: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Write the verdict as JUnit XML: a test case for each fault
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// `loomrec demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the recording the demo makes in this file
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
}

/// `loomrec config`.
#[derive(Debug, Args)]
#[command(after_help = "\
A flag wins over the environment, the environment over loomrec.toml; rules and upstreams
add up. loomrec.toml holds any flag that has a twin in the environment, by its long name:

  recording = \"recordings/agent.json\"     # paths are relative to the file
  ignore = [\"/user\"]
  [upstreams]
  openai = \"https://gateway.example.com\"
  [replay]
  latency = \"replay\"")]
pub struct ConfigArgs {
    /// Only for this command: record or replay
    #[arg(value_parser = ["record", "replay"])]
    pub command: Option<String>,
    /// As JSON
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
Exit code 0 when nothing is wrong (warnings included), 1 when something is. Without --online
nothing leaves this machine.")]
pub struct DoctorArgs {
    /// Recordings to look at [default: the one that LOOMREC_RECORDING or loomrec.toml names]
    #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub files: Vec<RecordingLocation>,
    /// Ask each upstream whether it can be reached, and takes the key there is for it
    #[arg(long)]
    pub online: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
