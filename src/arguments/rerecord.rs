//! The flags of `loomrec rerecord`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueHint};

use super::LogFormat;
use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec rerecord`.
#[derive(Debug, Args)]
#[command(after_help = "\
The new answers go into FILE.new, beside the recording, which stays as it is; `loomrec review
FILE` shows them next to the old ones and puts those that you accept in their place. The same
command again goes on where it stopped. Keys come from the environment, by the names that the
providers' own SDKs read (OPENAI_API_KEY, ANTHROPIC_API_KEY, …).

Exit code 0 when every call has its new answer, 1 when one has none (it is told which), 2 when
something keeps a call from being sent, before any is.

Examples:
  loomrec rerecord --pending recordings/agent.json.pending recordings/agent.json
  loomrec rerecord recordings/agent.json --older-than 30d --dry-run
  loomrec rerecord recordings/agent.json --only plan --only 79c0
  loomrec rerecord recordings/agent.json --set model=gpt-5-mini --set /temperature=0 -o what-if.json")]
pub struct RerecordArgs {
    /// The recording; with --pending FILE.pending, the one beside it unless it is named
    #[arg(
        value_name = "FILE",
        required_unless_present_any = ["pending", "drifted"],
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub file: Option<RecordingLocation>,

    /// Send what a replay missed and wrote here, instead of what is recorded
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "drifted",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub pending: Option<RecordingLocation>,
    /// Send what drifted in the replay that wrote this receipt, which must have had --pending
    #[arg(long, value_name = "RECEIPT")]
    pub drifted: Option<PathBuf>,
    /// Only this call: a step id, a hash or the beginning of one, #N behind it for one take (repeatable)
    #[arg(long, value_name = "KEY")]
    pub only: Vec<String>,
    /// Only calls recorded longer ago than this: 90m, 12h, 30d, 8w
    #[arg(long, value_name = "AGE")]
    pub older_than: Option<String>,
    /// Only calls that ask for this model, or were answered by it (repeatable)
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,

    /// Send another value: NAME=VALUE for a member of the body, /JSON/POINTER=VALUE for any place (repeatable)
    #[arg(long, value_name = "PLACE=VALUE")]
    pub set: Vec<String>,
    /// An upstream's address: NAME=URL, or one URL for everything (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    pub upstream: Vec<String>,
    /// The variable that holds an upstream's key, where it is not the usual one (repeatable)
    #[arg(long, value_name = "NAME=VARIABLE")]
    pub key: Vec<String>,
    /// Replace what this regular expression matches, before anything is hashed or kept (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    pub redact: Vec<String>,
    /// Send requests although a mark stands in them where a secret was taken out
    #[arg(long)]
    pub send_redacted: bool,
    /// Leave out calls that cannot be sent, instead of sending none
    #[arg(long)]
    pub skip: bool,

    /// Where the new answers go [default: FILE.new]
    #[arg(
        short,
        long,
        value_name = "FILE",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,
    /// Send again what the new answers are there of already; they give way
    #[arg(long)]
    pub again: bool,

    /// Requests under way at one upstream
    #[arg(long, value_name = "N", default_value_t = 4, env = "LOOMREC_CONCURRENCY")]
    pub concurrency: usize,
    /// How often one request is sent at the most, while its upstream is busy
    #[arg(long, value_name = "N", default_value_t = 6, env = "LOOMREC_TRIES")]
    pub tries: u32,
    /// The longest wait before a request is sent again, whatever Retry-After says
    #[arg(long, value_name = "SECONDS", default_value_t = 120, env = "LOOMREC_MAX_WAIT")]
    pub max_wait: u64,
    /// How long a whole answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600, env = "LOOMREC_TIMEOUT")]
    pub timeout: u64,
    /// Prices per model (JSON), above the built-in ones, or in their place if it says so
    #[arg(long, value_name = "FILE", env = "LOOMREC_PRICES")]
    pub prices: Option<PathBuf>,
    /// Keep no more than this many bytes of one answer
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, env = "LOOMREC_MAX_COPY")]
    pub max_copy: usize,

    /// Send without asking; without a terminal nothing is sent otherwise
    #[arg(short, long, env = "LOOMREC_YES", value_parser = FalseyValueParser::new())]
    pub yes: bool,
    /// Say what would be sent and what it may cost, and end
    #[arg(long)]
    pub dry_run: bool,
    /// What was done, as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// How messages on stderr are written
    #[arg(long, value_enum, default_value_t = LogFormat::Human, env = "LOOMREC_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// Say nothing but errors
    #[arg(short, long, env = "LOOMREC_QUIET", value_parser = FalseyValueParser::new())]
    pub quiet: bool,
}
