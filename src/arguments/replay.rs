//! The flags of `loomrec replay`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum, ValueHint};

use super::location::location;
use super::{ExpiryArgs, ServeArgs, SetAside};
use loomrec_store::RecordingLocation;

/// `loomrec replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec replay --strict -r recordings/agent.json -- pytest
  loomrec replay -r a.json -r b.json --fail-unused -- node agent.mjs
  loomrec replay -r r.json --latency replay --speed 10     # serve, at a tenth of the recorded time
  loomrec replay --script answers.yaml -- pytest           # answers written by hand, whatever is asked")]
pub struct ReplayArgs {
    /// A recording to answer from (repeatable)
    #[arg(
        short,
        long = "recording",
        value_name = "FILE",
        env = "LOOMREC_RECORDING",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub recordings: Vec<RecordingLocation>,

    /// A script that answers, call by call, whatever the recordings do not (JSON or YAML)
    #[arg(long, value_name = "FILE", env = "LOOMREC_SCRIPT")]
    pub script: Option<PathBuf>,

    /// Refuse every call that is not recorded, serve each take once, refuse what cannot be checked;
    /// final: no environment, settings or recording weakens it
    #[arg(long)]
    pub strict: bool,

    /// With --strict: let entries answer that cannot be checked, and say how many did
    #[arg(long, requires = "strict")]
    pub allow_unchecked: bool,

    /// What a call that is not recorded gets [default: error]
    #[arg(long, value_enum, env = "LOOMREC_ON_MISS")]
    pub on_miss: Option<OnMissFlag>,

    /// The same as --on-miss default
    #[arg(long, env = "LOOMREC_ALLOW_DEFAULT_FALLBACK", value_parser = FalseyValueParser::new())]
    pub allow_default_fallback: bool,

    /// What a further identical call gets once its takes are used up
    /// [default: error; last for a file that AgentLoom wrote]
    #[arg(long, value_enum, env = "LOOMREC_REPEAT")]
    pub repeat: Option<RepeatPolicy>,

    /// When answers and their chunks go out
    #[arg(long, value_enum, default_value_t = LatencyModel::None, env = "LOOMREC_LATENCY")]
    pub latency: LatencyModel,

    /// Milliseconds for the constant and normal models, and for entries without times of their own
    #[arg(long, value_name = "MS", default_value_t = 0.0, env = "LOOMREC_LATENCY_MS")]
    pub latency_ms: f64,

    /// Divide recorded times by this
    #[arg(long, value_name = "X", default_value_t = 1.0, env = "LOOMREC_SPEED")]
    pub speed: f64,

    /// Fail when a recorded take was never asked for
    #[arg(long, env = "LOOMREC_FAIL_UNUSED", value_parser = FalseyValueParser::new())]
    pub fail_unused: bool,

    /// Write the requests that no recording answers here, for loomrec rerecord --pending
    #[arg(
        long,
        value_name = "FILE",
        env = "LOOMREC_PENDING",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub pending: Option<RecordingLocation>,

    /// Do not fail when CMD made no call at all
    #[arg(long, env = "LOOMREC_ALLOW_EMPTY", value_parser = FalseyValueParser::new())]
    pub allow_empty: bool,

    /// When a recording is too old.
    #[command(flatten)]
    pub expiry: ExpiryArgs,

    /// Everything else.
    #[command(flatten)]
    pub serve: ServeArgs,

    /// What --strict set aside.
    #[arg(skip)]
    pub set_aside: SetAside,
}

/// What a call that is not recorded gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissFlag {
    /// A RecordingMismatchError
    Error,
    /// The placeholder answer "Mock response"
    Default,
    /// The live upstream's answer, not recorded
    Forward,
}

/// What a further identical call gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RepeatPolicy {
    /// A RecordingMismatchError, reason exhausted
    Error,
    /// The last take again
    Last,
    /// All takes again from the first
    Cycle,
}

/// When answers go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LatencyModel {
    /// At once
    None,
    /// After --latency-ms
    Constant,
    /// After a seeded draw around --latency-ms
    Normal,
    /// Each chunk at its recorded time
    Replay,
}
