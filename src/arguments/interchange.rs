//! The flags of `loomrec import` and `loomrec export`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::IdentityArgs;
use super::location::location;
use loomrec_store::RecordingLocation;

/// What `--into` cannot be combined with. The target recording has rules of its own, too: rules
/// from the environment give way to them, and typed rules are refused.
const INTO_CONFLICTS: [&str; 2] = ["output", "force"];

/// `loomrec import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats: vcr (VCR.py and pytest-recording, YAML), vcr-json (the same in JSON), har (browsers,
Playwright, mitmproxy), agentloom, aimock (its fixtures), openai-batch (its answers, with
--requests), openai-chat (JSONL to train with), otel (spans of OpenInference and of OTel's
conventions, in OTLP's JSON). A file is known by what it begins with; --from says it.

Credentials never come over. Calls to hosts that are no upstream's are left out and counted;
an address of your own is named with --upstream, as it is for record.

Exit code 0 when calls came over, 1 when none did or one was lost, 4 when a file cannot be
read.

Examples:
  loomrec import tests/cassettes/*.yaml -o recordings/agent.json
  loomrec import --from har traffic.har -o recordings/web.json --upstream openai=http://127.0.0.1:9999/v1
  loomrec import new.yaml --into recordings/agent.json
  loomrec import --requests batch_in.jsonl batch_out.jsonl -o recordings/batch.json
  loomrec import fixtures/recorded/*.json --requests agent.json.pending -o recordings/agent.json
  loomrec replay --strict -r recordings/agent.json -- pytest")]
pub struct ImportArgs {
    /// The files to read; - for stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What the files are [default: told by what they begin with]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// The requests, where files hold answers alone: of an OpenAI batch its request file; of
    /// aimock's rules a recording, or what a run missed (FILE.pending)
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
    /// The model that was asked, where a file does not tell (openai-chat)
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The recording to make
    #[arg(
        short,
        long,
        value_name = "OUT",
        required_unless_present = "into",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,
    /// Add to this recording instead: a call that it holds already gets further takes
    #[arg(
        long,
        value_name = "RECORDING",
        conflicts_with_all = INTO_CONFLICTS,
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub into: Option<RecordingLocation>,
    /// Let a recording that is there give way
    #[arg(long)]
    pub force: bool,
    /// Bring calls to other hosts over, too; each host becomes an upstream of its name
    #[arg(long)]
    pub all: bool,
    /// Bring bodies over that are not as long as their headers say: another tool changed them
    #[arg(long)]
    pub any_length: bool,
    /// An upstream's address: NAME=URL, or one URL for everything (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    pub upstream: Vec<String>,
    /// What makes two requests the same.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// Replace what this regular expression matches, before anything is hashed or kept (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    pub redact: Vec<String>,
    /// Prices per model (JSON), above the built-in ones, or in their place if it says so
    #[arg(long, value_name = "FILE", env = "LOOMREC_PRICES")]
    pub prices: Option<PathBuf>,
    /// The receipt as JSON, on stdout
    #[arg(long)]
    pub json: bool,
}

/// `loomrec export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats: vcr (a cassette of VCR.py, YAML), vcr-json (the same in JSON), har (HAR 1.2, for any
viewer; importing it gives the same recording back), agentloom (version 2, without what is
loomrec's own), aimock (fixtures), openai-batch (requests; --answers: answers), openai-chat
(conversations to train with), otel (spans in OTLP's JSON, one a line).

Exit code 0 when calls came over, 1 when none did.

Examples:
  loomrec export --to har recordings/agent.json -o agent.har
  loomrec export --to vcr recordings/agent.json > cassette.yaml")]
pub struct ExportArgs {
    /// The recording
    #[arg(value_name = "RECORDING", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: String,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Let a file that is there give way
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Write the answers of a batch, and not its requests (openai-batch)
    #[arg(long)]
    pub answers: bool,
    /// The address that an upstream's calls get: NAME=URL, or one URL for everything (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    pub upstream: Vec<String>,
    /// The receipt as JSON, on stdout
    #[arg(long, requires = "output")]
    pub json: bool,
}
