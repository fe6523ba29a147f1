//! The command line as it is typed. What the words mean together is worked out
//! by each command.

mod access;
mod convert;
mod diff;
mod expiry;
mod fault;
mod generate;
mod identity;
mod interchange;
mod journal;
mod limit;
mod merge;
mod prune;
mod reading;
mod redact;
mod replay;
mod rerecord;
mod review;
mod salvage;
mod ui;
mod verify;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use access::AccessArgs;
pub use convert::ConvertArgs;
pub use diff::DiffArgs;
pub use expiry::{ExpiryArgs, OnExpired};
pub use fault::FaultArgs;
pub use generate::{GenerateArgs, GenerateKind};
pub use identity::IdentityArgs;
pub use interchange::{ExportArgs, ImportArgs};
pub use journal::{JournalArgs, SourceArgument, TimeArgument};
pub use limit::LimitArgs;
pub use merge::{GitMergeArgs, MergeArgs, OnConflict};
pub use prune::PruneArgs;
pub use reading::{
    ConfigArgs, DemoArgs, DoctorArgs, LsArgs, ScoreArgs, ShowArgs, StatsArgs, StatsBy,
};
pub use redact::RedactArgs;
pub use replay::{LatencyModel, OnMissFlag, RepeatPolicy, ReplayArgs};
pub use rerecord::RerecordArgs;
pub use review::{AcceptArgs, DecideArgs, PendingArgs, RejectArgs, ReviewArgs};
pub use salvage::SalvageArgs;
pub use ui::UiArgs;
pub use verify::VerifyArgs;

/// Record every call a program makes to LLM APIs, and replay it strictly.
#[derive(Debug, Parser)]
#[command(
    name = "loomrec",
    version,
    about,
    arg_required_else_help = true,
    after_help = "\
The first five minutes:
  loomrec demo                                          see the whole loop, no key, no network
  loomrec record -r recordings/agent.json -- pytest     run it as before; every call is kept
  loomrec replay --strict -r recordings/agent.json -- pytest
                                                        in CI: no key, no network, milliseconds

Exit codes: 0 ok; 1 the answer is \"no\" (a mismatch, nothing served); 2 usage; 3 unexpected;
4 a recording is missing, damaged or too new; 5 a recording could not be kept whole;
6 an upstream or the listener is unusable; with CMD, a CMD that failed passes its own on."
)]
pub struct Cli {
    /// The project's settings [default: the nearest loomrec.toml, from here upward]
    #[arg(long, global = true, value_name = "FILE", env = "LOOMREC_CONFIG")]
    pub config: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Forward every call to its upstream and keep the answer.
    Record(RecordArgs),
    /// Answer every call from recordings; refuse what they do not hold.
    Replay(ReplayArgs),
    /// List what is in a recording.
    Ls(LsArgs),
    /// Show one entry in full: request, answer, chunk timeline.
    Show(ShowArgs),
    /// Tell what changed between two recordings, call by call.
    Diff(DiffArgs),
    /// Sum up recordings: calls, tokens, cost and times by upstream and model.
    Stats(StatsArgs),
    /// Send recorded requests again, and keep the new answers apart for their review.
    Rerecord(RerecordArgs),
    /// Look at the changes that wait for a recording, and accept or reject each.
    Review(ReviewArgs),
    /// Accept changes that wait, all or by key.
    Accept(AcceptArgs),
    /// Reject changes that wait, all or by key.
    Reject(RejectArgs),
    /// Tell which requests wait for answers, and which answers for their review.
    Pending(PendingArgs),
    /// Look for everything that is wrong with recordings, and mend what is mechanical.
    Verify(VerifyArgs),
    /// Save what can be read of a damaged recording or log into a new one.
    Salvage(SalvageArgs),
    /// Merge recordings into one, call by call.
    Merge(MergeArgs),
    /// Merge the two sides of a recording in git, as its merge driver.
    GitMerge(GitMergeArgs),
    /// Take out of a recording what is not needed any more.
    Prune(PruneArgs),
    /// Take credentials, and what rules name, out of recordings.
    Redact(RedactArgs),
    /// Turn a recording in one file into a folder with a file for each call, or back.
    Convert(ConvertArgs),
    /// Make a recording of what another tool kept: cassettes, HAR, fixtures, JSONL, spans.
    Import(ImportArgs),
    /// Write a recording in the format of another tool.
    Export(ExportArgs),
    /// Read journals: calls that are sought, as they come, or summed up.
    Journal(JournalArgs),
    /// Look at a recording or a journal in the browser: calls, conversations, streams.
    Ui(UiArgs),
    /// Tell how well the program recovered from faults, by a journal and a budget.
    Score(ScoreArgs),
    /// Say which settings are in force, and where each of them comes from.
    Config(ConfigArgs),
    /// Look for what keeps loomrec from working here; each finding with its remedy.
    Doctor(DoctorArgs),
    /// Record, replay and break a small agent run on this machine: no key, no network.
    Demo(DemoArgs),
    /// Write shell completions and manual pages.
    Generate(GenerateArgs),
}

/// Flags of every command that serves.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where to listen [default: 127.0.0.1:4141, or a free port with CMD]
    #[arg(long, value_name = "ADDR", env = "LOOMREC_LISTEN")]
    pub listen: Option<SocketAddr>,

    /// Allow a listener that other machines can reach
    #[arg(long, env = "LOOMREC_ALLOW_REMOTE", value_parser = FalseyValueParser::new())]
    pub allow_remote: bool,

    /// What may call.
    #[command(flatten)]
    pub access: AccessArgs,

    /// An upstream's address: NAME=URL, or one URL for everything (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    pub upstream: Vec<String>,

    /// What makes two requests the same.
    #[command(flatten)]
    pub identity: IdentityArgs,

    /// Replace what this regular expression matches, before anything is hashed or kept (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    pub redact: Vec<String>,

    /// The header in which the program names a call's step, beside x-loomrec-step-id
    #[arg(long, value_name = "NAME", env = "LOOMREC_STEP_ID_HEADER")]
    pub step_id_header: Option<String>,

    /// Write a JSON line for each call
    #[arg(long, value_name = "FILE", env = "LOOMREC_JOURNAL")]
    pub journal: Option<PathBuf>,

    /// Begin the journal anew above this size, such as 64MiB; older parts are FILE.1, FILE.2, …
    #[arg(
        long,
        value_name = "SIZE",
        env = "LOOMREC_JOURNAL_MAX_SIZE",
        value_parser = journal::size,
        requires = "journal"
    )]
    pub journal_max_size: Option<u64>,

    /// How many older parts of the journal are kept
    #[arg(long, value_name = "N", default_value_t = 3, env = "LOOMREC_JOURNAL_KEEP")]
    pub journal_keep: u32,

    /// Write the receipt as JSON
    #[arg(long, value_name = "FILE", env = "LOOMREC_RECEIPT")]
    pub receipt: Option<PathBuf>,

    /// Refuse request bodies above this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, env = "LOOMREC_MAX_BODY")]
    pub max_body: usize,

    /// What clients may take.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Let callers that hold this token use /__loomrec/ from anywhere (header x-loomrec-token)
    #[arg(long, value_name = "TOKEN", env = "LOOMREC_CONTROL_TOKEN", hide_env_values = true)]
    pub control_token: Option<String>,

    /// Give /metrics AgentLoom's and aimock's own names, too, beside loomrec's
    #[arg(long, env = "LOOMREC_METRICS_COMPAT", value_parser = FalseyValueParser::new())]
    pub metrics_compat: bool,

    /// Send a span for each call to an OpenTelemetry collector, as the OTEL_… variables say
    #[arg(long, env = "LOOMREC_OTEL", value_parser = FalseyValueParser::new())]
    pub otel: bool,

    /// What goes wrong on purpose.
    #[command(flatten)]
    pub trouble: FaultArgs,

    /// Do not set this variable for CMD (repeatable)
    #[arg(long, value_name = "NAME", env = "LOOMREC_NO_ENV", value_delimiter = ' ')]
    pub no_env: Vec<String>,

    /// Print the variables that point SDKs at the listener, for a shell, and exit
    #[arg(long, conflicts_with = "cmd")]
    pub print_env: bool,

    /// How messages on stderr are written
    #[arg(long, value_enum, default_value_t = LogFormat::Human, env = "LOOMREC_LOG_FORMAT")]
    pub log_format: LogFormat,

    /// Log to stderr: a level (info has a line for each call), or levels by target, such as
    /// 'loomrec::call=info,loomrec::store=debug' [default: off]
    #[arg(long, value_name = "FILTER", env = "LOOMREC_LOG")]
    pub log: Option<String>,

    /// Say nothing but errors
    #[arg(
        short,
        long,
        env = "LOOMREC_QUIET",
        conflicts_with = "verbose",
        value_parser = FalseyValueParser::new()
    )]
    pub quiet: bool,

    /// Say more: a line for each call
    #[arg(short, long, env = "LOOMREC_VERBOSE", value_parser = FalseyValueParser::new())]
    pub verbose: bool,

    /// The command to run, with every SDK pointed here; without one, serve until SIGINT or SIGTERM
    #[arg(last = true, value_name = "CMD")]
    pub cmd: Vec<OsString>,
}

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// `loomrec record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec record -r recordings/agent.json -- pytest
  loomrec record -r r.json --upstream openai=http://127.0.0.1:9999 -- python agent.py
  loomrec record -r r.json            # serve http://127.0.0.1:4141/openai/v1, …/anthropic, …")]
pub struct RecordArgs {
    /// The recording to write: FILE, or FOLDER/ for a file for each call
    #[arg(short, long, value_name = "FILE", env = "LOOMREC_RECORDING")]
    pub recording: PathBuf,

    /// Which calls go upstream
    #[arg(long, value_enum, default_value_t = RecordMode::All, env = "LOOMREC_MODE")]
    pub mode: RecordMode,

    /// Let a call that failed replace an earlier take that succeeded, and a run in which every
    /// call failed end well
    #[arg(long, env = "LOOMREC_KEEP_FAILURES", value_parser = FalseyValueParser::new())]
    pub keep_failures: bool,

    /// Join the run of this name, instead of the one that is live or a new one
    #[arg(long, value_name = "ID", env = "LOOMREC_RUN")]
    pub run: Option<String>,

    /// Pass the client's accept-encoding on, so that answers may be recorded compressed
    #[arg(long, env = "LOOMREC_KEEP_ENCODING", value_parser = FalseyValueParser::new())]
    pub keep_encoding: bool,

    /// When an exchange is safe enough for its client to get the last byte
    #[arg(long, value_enum, default_value_t = DurableAt::Process, env = "LOOMREC_DURABILITY")]
    pub durability: DurableAt,

    /// Prices per model (JSON), above the built-in ones, or in their place if it says so
    #[arg(long, value_name = "FILE", env = "LOOMREC_PRICES")]
    pub prices: Option<PathBuf>,

    /// Keep no more than this many bytes of one answer; larger ones pass, marked truncated
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, env = "LOOMREC_MAX_COPY")]
    pub max_copy: usize,

    /// How many seconds an answer, or the rest of one, is awaited after its client has left
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "LOOMREC_DRAIN")]
    pub drain: u64,

    /// Do not fail when CMD made no call at all
    #[arg(long, env = "LOOMREC_ALLOW_EMPTY", value_parser = FalseyValueParser::new())]
    pub allow_empty: bool,

    /// Everything else.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// When an exchange is safe enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DurableAt {
    /// Once it survives the end of loomrec, SIGKILL included
    Process,
    /// Once it survives a power cut: the disk is waited for
    Power,
}

/// Which calls go upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum RecordMode {
    /// Every call; what this run records replaces earlier takes, key by key
    All,
    /// Only calls that have no recorded take left; theirs are added
    NewEpisodes,
    /// Every call if there is no recording yet; none if there is one
    Once,
    /// None: as replay does
    None,
}
