//! The flags of `loomrec replay`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum, ValueHint};

use super::detailed_choice::{DetailedChoice, DetailedChoiceParser};
use super::location::{local_location, location};
use super::{ExpiryArgs, RemoteArgs, ServeArgs, SetAside, SettingScope, StrictEffect};
use loomrec_store::RecordingLocation;

/// `loomrec replay`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec replay --strict -r recordings/agent.json -- pytest
  loomrec replay -r a.json -r b.json --fail-unused -- node agent.mjs
  loomrec replay -r r.json --latency replay --speed 10  # serve, at ten times the speed
  loomrec replay --script answers.yaml -- pytest        # answers written by hand

Environment variables, and all other flags: loomrec replay --help-all")]
pub struct ReplayArgs {
    /// A recording to answer from (repeatable)
    ///
    /// A file, a pointer file (NAME.remote.json) or s3://BUCKET/NAME, with @sha256:HASH or
    /// @TAG for one of its states. With {session} in its name: a recording for each session.
    #[arg(
        short,
        long = "recording",
        value_name = "FILE",
        env = "LOOMREC_RECORDING",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
        add = StrictEffect::Reported
    )]
    #[arg(add = SettingScope::Recording)]
    pub recordings: Vec<RecordingLocation>,

    /// Answer calls that are not recorded from a script
    ///
    /// FILE is a script in JSON or YAML, a fixture file of aimock, or a folder of them. Without a
    /// recording, it answers every call. Repeatable.
    #[arg(long, value_name = "FILE", env = "LOOMREC_SCRIPT", add = StrictEffect::WEAKENS)]
    #[arg(add = SettingScope::InputFile)]
    pub script: Vec<PathBuf>,

    /// Nothing may weaken the replay: for CI
    ///
    /// Entries that cannot be checked are refused, and no variable, setting or recording can weaken
    /// the replay.
    #[arg(long, add = StrictEffect::Harmless)]
    pub strict: bool,

    /// Answer from entries that cannot be checked, and from those that AgentLoom 0.4.0 keyed by
    /// their messages alone
    #[arg(long, add = StrictEffect::WEAKENS)]
    pub allow_unchecked: bool,

    /// With --strict and recordings: also answer from a script what they do not hold
    #[arg(long, requires = "strict", add = StrictEffect::WEAKENS)]
    pub allow_script: bool,

    /// With --strict: let control calls and headers change answers, rules or progress, and report
    /// each
    #[arg(long, requires = "strict", add = StrictEffect::WEAKENS)]
    pub allow_control: bool,

    /// The answer to a call that is not recorded [default: error]
    #[arg(
        long,
        value_name = "ANSWER[:TEXT]",
        env = "LOOMREC_ON_MISS",
        value_parser = DetailedChoiceParser::<OnMissFlag>::new(),
        add = StrictEffect::contradicts_unless("error")
    )]
    #[arg(add = SettingScope::Outside { unless: Some("error") })]
    pub on_miss: Option<DetailedChoice<OnMissFlag>>,

    /// What a call gets when all its takes are used up
    ///
    /// The default is error, or last for a file that AgentLoom wrote.
    #[arg(
        long,
        value_enum,
        env = "LOOMREC_REPEAT",
        add = StrictEffect::contradicts_unless("error")
    )]
    #[arg(add = SettingScope::Run)]
    pub repeat: Option<RepeatPolicy>,

    /// When to send answers and chunks, such as constant:200
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "none",
        env = "LOOMREC_LATENCY",
        value_parser = DetailedChoiceParser::<LatencyModel>::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub latency: DetailedChoice<LatencyModel>,

    /// Divide recorded times by this factor
    ///
    /// It also divides the retry-after of recorded answers.
    #[arg(
        long,
        value_name = "X",
        default_value_t = 1.0,
        env = "LOOMREC_SPEED",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub speed: f64,

    /// The order in which answers to calls at the same time end [default: recorded with CMD, else any]
    #[arg(long, value_enum, env = "LOOMREC_END_ORDER", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::Run)]
    pub end_order: Option<EndOrderFlag>,

    /// Fail if a recorded take was never requested
    ///
    /// Takes that no client got do not count. Calls and rules of a script do.
    #[arg(
        long,
        env = "LOOMREC_FAIL_UNUSED",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub fail_unused: bool,

    /// Keep calls that are not recorded, by default in the folder .loomrec
    ///
    /// `loomrec rerecord RECORDING --pending` fetches their answers.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        env = "LOOMREC_PENDING",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::OUTPUT_FILE)]
    pub pending: Option<Option<RecordingLocation>>,

    /// Do not fail if CMD makes no call
    #[arg(
        long,
        env = "LOOMREC_ALLOW_EMPTY",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::WeakensCommand
    )]
    #[arg(add = SettingScope::Run)]
    pub allow_empty: bool,

    /// Do not look for connections of CMD past loomrec to a known provider
    ///
    /// Without it, loomrec is CMD's https proxy, and such connections fail the run.
    #[arg(
        long,
        env = "LOOMREC_NO_GUARD",
        conflicts_with = "intercept",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::WeakensCommand
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub no_guard: bool,

    /// When a recording is too old.
    #[command(flatten)]
    pub expiry: ExpiryArgs,

    /// The flags for recordings in object stores.
    #[command(flatten)]
    pub remote: RemoteArgs,

    /// The flags of every command that serves.
    #[command(flatten)]
    pub serve: ServeArgs,

    /// What --strict set aside.
    #[arg(skip)]
    pub set_aside: SetAside,
}

impl ReplayArgs {
    /// Returns the text of the answer to calls that are not recorded, if the user chose one.
    #[must_use]
    pub fn default_response(&self) -> Option<String> {
        self.on_miss.as_ref()?.detail.clone()
    }

    /// Whether answers end in the order of the recorded run. A server has clients that know nothing
    /// of each other, so it keeps no order unless it is asked to.
    #[must_use]
    pub fn keeps_end_order(&self) -> bool {
        match self.end_order {
            Some(order) => order == EndOrderFlag::Recorded,
            None => !self.serve.cmd.is_empty(),
        }
    }
}

/// The answer to a call that is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissFlag {
    /// A RecordingMismatchError
    Error,
    /// A placeholder answer: default, or default:TEXT [TEXT: Mock response]
    Default,
    /// The live upstream's answer, not recorded
    Forward,
}

/// The answer to a repeated call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RepeatPolicy {
    /// A RecordingMismatchError (exhausted)
    Error,
    /// The last take again
    Last,
    /// All takes again
    Cycle,
}

/// The order in which answers to calls at the same time end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EndOrderFlag {
    /// That of the recorded run; answers wait, for 5 s at most
    Recorded,
    /// None: each ends when it can
    Any,
}

/// When to send answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LatencyModel {
    /// Immediately
    None,
    /// After that many milliseconds
    Constant,
    /// After a random time around them
    Normal,
    /// With AgentLoom's numbers
    #[value(name = "agentloom")]
    Sequence,
    /// Each chunk at its recorded time, else after them
    Replay,
}
