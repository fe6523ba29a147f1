//! The flags of every command that serves.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::{AccessArgs, FaultArgs, IdentityArgs, LimitArgs, LogFormat, journal};

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
