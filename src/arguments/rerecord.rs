//! The flags of `loomrec rerecord`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueHint};

use super::location::local_location;
use super::{FromSettings, LogFormat, SettingScope};
use loomrec_store::RecordingLocation;

/// `loomrec rerecord`.
#[derive(Debug, Args)]
#[command(after_help = "\
The new answers go into FILE.new beside the recording, which does not change. `loomrec review
FILE` shows them next to the old answers, and replaces those that you accept. If the command is
interrupted, run it again to continue. API keys come from the environment variables that the
providers' SDKs read (OPENAI_API_KEY, ANTHROPIC_API_KEY, …). For your own upstream, it is
NAME_API_KEY.

Exit code 0 if every call has a new answer, 1 if one has none (the command names it, before it
asks if it cannot be sent), 2 if no call can be sent.

Examples:
  loomrec rerecord recordings/agent.json --pending          # what replay --pending has kept
  loomrec rerecord tests --pending                          # of all recordings in the folder
  loomrec rerecord recordings/agent.json --model gpt-4o-mini --dry-run
  loomrec rerecord recordings/agent.json plan 79c0
  loomrec rerecord recordings/agent.json --set model=gpt-5-mini --set /temperature=0 -o what-if.json")]
pub struct RerecordArgs {
    /// The recording; with --pending, also a folder of recordings [default with --pending FILE.pending:
    /// FILE; else that of the settings]
    #[arg(
        value_name = "FILE",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub file: Option<RecordingLocation>,
    /// Only these calls: a step id, or the beginning of a hash; add #N for one take [default: all]
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,

    /// Send the requests that `loomrec replay --pending` kept, instead of recorded requests; name the
    /// recording before this flag
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        conflicts_with = "drifted",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub pending: Option<Option<RecordingLocation>>,
    /// Send the requests that drifted in the replay with this receipt; it must have used --pending
    #[arg(long, value_name = "RECEIPT")]
    pub drifted: Option<PathBuf>,
    /// Only calls that request this model, or that this model answered (repeatable)
    #[arg(long, value_name = "MODEL")]
    pub model: Vec<String>,

    /// Change a value before sending: NAME=VALUE for a member of the body, /JSON/POINTER=VALUE for
    /// any place; VALUE is JSON, or else text (repeatable)
    #[arg(long, value_name = "PLACE=VALUE")]
    pub set: Vec<String>,
    /// The address of an upstream: NAME=URL, or one URL for everything (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    #[arg(add = SettingScope::UpstreamAddress)]
    pub upstream: Vec<String>,
    /// Replace text that matches this regular expression, before hashing and recording (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    #[arg(add = SettingScope::Run)]
    pub redact: Vec<String>,
    /// Send requests even if a secret in them was redacted
    #[arg(long)]
    pub send_redacted: bool,

    /// The file for the new answers [default: FILE.new]
    #[arg(
        short,
        long,
        value_name = "FILE",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,

    /// Prices per model (JSON), beside or in place of the built-in ones
    #[arg(long, value_name = "FILE", env = "LOOMREC_PRICES")]
    #[arg(add = SettingScope::InputFile)]
    pub prices: Option<PathBuf>,
    /// Maximum bytes of one answer; larger answers are not kept
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, env = "LOOMREC_MAX_BODY")]
    #[arg(add = SettingScope::Run)]
    pub max_body: usize,

    /// Send without asking; required if there is no terminal
    #[arg(short, long, env = "LOOMREC_YES", value_parser = FalseyValueParser::new())]
    #[arg(add = SettingScope::OUTSIDE)]
    pub yes: bool,
    /// Print what would be sent and what it may cost, and exit; keys may be missing
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was done as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// The format of messages on stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Human, env = "LOOMREC_LOG_FORMAT")]
    #[arg(add = SettingScope::Run)]
    pub log_format: LogFormat,
    /// Print only errors
    #[arg(short, long, env = "LOOMREC_QUIET", value_parser = FalseyValueParser::new())]
    #[arg(add = SettingScope::Run)]
    pub quiet: bool,

    /// What comes from the settings file.
    #[arg(skip)]
    pub from_settings: FromSettings,
}
