//! The flags of every command that serves.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::listen::listen_address;
use super::{
    AccessArgs, FaultArgs, FromSettings, IdentityArgs, InterceptArgs, LimitArgs, LogFormat,
    RunValueArgs, SessionArgs, SettingScope, StrictEffect, TlsArgs,
};

/// Flags of every command that serves.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// The address to listen on, or its port
    ///
    /// [default: 127.0.0.1:4141, or a free port with CMD]
    #[arg(
        long,
        value_name = "ADDR",
        env = "LOOMREC_LISTEN",
        value_parser = listen_address,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub listen: Option<SocketAddr>,

    /// Allow an address that other machines can reach
    #[arg(
        long,
        env = "LOOMREC_ALLOW_REMOTE",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::Named
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub allow_remote: bool,

    /// The URL that clients use for loomrec, if it is not its address: http://loomrec:4141
    ///
    /// Repeatable. Calls to the host of each are accepted; the first is printed, and set for CMD.
    #[arg(
        long,
        value_name = "URL",
        env = "LOOMREC_PUBLIC_URL",
        value_delimiter = ' ',
        add = StrictEffect::WeakensCommand
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub public_url: Vec<String>,

    /// TLS on the listener.
    #[command(flatten)]
    pub tls: TlsArgs,

    /// The interception of connections.
    #[command(flatten)]
    pub intercept: InterceptArgs,

    /// The access policy.
    #[command(flatten)]
    pub access: AccessArgs,

    /// An upstream's address, or one for everything
    ///
    /// Repeatable.
    #[arg(
        long,
        value_name = "[NAME=]URL",
        env = "LOOMREC_UPSTREAM",
        value_delimiter = ' ',
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::UpstreamAddress)]
    pub upstream: Vec<String>,

    /// When two requests are the same.
    #[command(flatten)]
    pub identity: IdentityArgs,

    /// The values of this run.
    #[command(flatten)]
    pub run_values: RunValueArgs,

    /// Replace matching text before it is recorded
    ///
    /// The text is replaced before hashing, too. Repeatable.
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT", add = StrictEffect::Named)]
    #[arg(add = SettingScope::Redaction)]
    pub redact: Vec<String>,

    /// The header in which the program sends a call's step id, besides x-loomrec-step-id
    #[arg(long, value_name = "NAME", env = "LOOMREC_STEP_ID_HEADER", add = StrictEffect::Named)]
    #[arg(add = SettingScope::Run)]
    pub step_id_header: Option<String>,

    /// Write one JSON line for each call to FILE
    #[arg(long, value_name = "FILE", env = "LOOMREC_JOURNAL", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::OUTPUT_FILE)]
    pub journal: Option<PathBuf>,

    /// Write the receipt as JSON to FILE
    #[arg(long, value_name = "FILE", env = "LOOMREC_RECEIPT", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::OUTPUT_FILE)]
    pub receipt: Option<PathBuf>,

    /// Append the receipt as Markdown to FILE
    ///
    /// In CI: --summary "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE", env = "LOOMREC_SUMMARY", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::SUMMARY_FILE)]
    pub summary: Option<PathBuf>,

    /// Refuse request bodies larger than this many bytes, and record no more of one answer
    ///
    /// Larger answers are marked as truncated.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 64 << 20,
        env = "LOOMREC_MAX_BODY",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub max_body: usize,

    /// The limits for clients.
    #[command(flatten)]
    pub limits: LimitArgs,

    /// Seconds to wait for what is not finished
    ///
    /// An answer whose client has left, an object store that cannot be reached at the end [default:
    /// 60]; after SIGTERM, open sessions, while new ones are refused [default: 25].
    #[arg(
        long,
        value_name = "SECONDS",
        env = "LOOMREC_DRAIN",
        value_parser = clap::value_parser!(u64).range(0..=86_400),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub drain: Option<u64>,

    /// The flags for recordings of sessions.
    #[command(flatten)]
    pub sessions: SessionArgs,

    /// Callers of /__loomrec/ must send this token (header x-loomrec-token), and may be anywhere
    #[arg(
        long,
        value_name = "TOKEN",
        env = "LOOMREC_CONTROL_TOKEN",
        hide_env_values = true,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::CommandLine)]
    pub control_token: Option<String>,

    /// Also give /metrics the metric names of AgentLoom and aimock, and serve aimock's control paths
    #[arg(
        long,
        env = "LOOMREC_METRICS_COMPAT",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub metrics_compat: bool,

    /// Send a span for each call to the OpenTelemetry collector that the OTEL_… variables name
    #[arg(
        long,
        env = "LOOMREC_OTEL",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub otel: bool,

    /// The faults of a run.
    #[command(flatten)]
    pub trouble: FaultArgs,

    /// Stop when stdin ends: the server then never outlives the program that started it
    #[arg(
        long,
        env = "LOOMREC_STOP_WITH_STDIN",
        conflicts_with = "cmd",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub stop_with_stdin: bool,

    /// Do not set this variable for CMD (repeatable)
    #[arg(
        long,
        value_name = "NAME",
        env = "LOOMREC_NO_ENV",
        value_delimiter = ' ',
        add = StrictEffect::WeakensCommand
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub no_env: Vec<String>,

    /// Print the variables for your shell, and exit
    #[arg(long, conflicts_with = "cmd", add = StrictEffect::Harmless)]
    pub print_env: bool,

    /// The format of messages on stderr
    #[arg(
        long,
        value_enum,
        default_value_t = LogFormat::Human,
        env = "LOOMREC_LOG_FORMAT",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub log_format: LogFormat,

    /// Log to stderr: a level (info logs each call), or a level per target, such as
    /// 'loomrec::call=info,loomrec::store=debug' [default: off]
    #[arg(long, value_name = "FILTER", env = "LOOMREC_LOG", add = StrictEffect::Harmless)]
    #[arg(add = SettingScope::Run)]
    pub log: Option<String>,

    /// Print only errors
    #[arg(
        short,
        long,
        env = "LOOMREC_QUIET",
        conflicts_with = "verbose",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub quiet: bool,

    /// Print a line for each call
    #[arg(
        short,
        long,
        env = "LOOMREC_VERBOSE",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub verbose: bool,

    /// The program to run, with its SDKs pointed at loomrec; without it, loomrec serves until Ctrl-C
    #[arg(last = true, value_name = "CMD", add = StrictEffect::Harmless)]
    pub cmd: Vec<OsString>,

    /// What comes from the settings file.
    #[arg(skip)]
    pub from_settings: FromSettings,
}

impl ServeArgs {
    /// Returns how long to wait for the rest of a recorded answer, and for an object store.
    #[must_use]
    pub fn recording_drain(&self) -> Duration {
        Duration::from_secs(self.drain.unwrap_or(60))
    }

    /// Returns how long open sessions may take to end after SIGTERM.
    #[must_use]
    pub fn session_drain(&self) -> Duration {
        Duration::from_secs(self.drain.unwrap_or(25))
    }
}
