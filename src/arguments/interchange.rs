//! The flags of `loomrec import` and `loomrec export`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::IdentityArgs;
use super::SettingScope;
use super::location::{local_location, location};
use loomrec_store::RecordingLocation;

/// `loomrec import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats: vcr (VCR.py, pytest-recording, Ruby's and R's vcr, go-vcr), vcr-json (the same in JSON),
har (browsers, Playwright, mitmproxy, Polly), agentloom, aimock (fixtures), openai-chat (JSONL for
fine-tuning), httprr (Go), nock, wiremock (mappings). The format is detected from the beginning of
each file, which may be compressed (.gz); --from sets it.

Credentials are never imported. Calls to hosts that are not upstreams are left out and counted;
use --upstream to name your own addresses, as for record.

A bad file does not stop the others. Exit code 0 if calls were imported, 1 if there were none, or
a call or a file was left out, 4 if no file could be read, or under --strict a single one could not.

Examples:
  loomrec import tests/cassettes/*.yaml -o recordings/agent.json
  loomrec import --from har traffic.har -o recordings/web.json --upstream openai=http://127.0.0.1:9999/v1
  loomrec import tests/cassettes --per-file tests/recordings
  loomrec import fixtures/recorded/*.json --requests recordings/.loomrec/agent.json.pending -o recordings/agent.json
  loomrec replay --strict -r recordings/agent.json -- pytest")]
pub struct ImportArgs {
    /// The files to read, or folders with them; - for stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The format of the files [default: detected from their beginning]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// The requests that aimock fixtures answer: a recording, or what a replay missed (replay
    /// --pending)
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
    /// The requested model, if a file does not name it (openai-chat)
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The recording to create
    #[arg(
        short,
        long,
        value_name = "OUT",
        required_unless_present = "per_file",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,
    /// Make a recording of each file in this folder instead, where the plug-in for pytest finds it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "requests"])]
    pub per_file: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long)]
    pub force: bool,
    /// Write nothing if a file cannot be read or a call is lost
    #[arg(long)]
    pub strict: bool,
    /// Do not assume headers that every SDK sends where a file lacks them
    #[arg(long)]
    pub no_assume: bool,
    /// The value of a placeholder in the files, such as AWS_REGION (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub substitute: Vec<String>,
    /// Also import calls to other hosts; each host becomes an upstream of that name
    #[arg(long)]
    pub all: bool,
    /// Also import bodies whose length differs from their headers: another tool changed them
    #[arg(long)]
    pub any_length: bool,
    /// The address of an upstream: NAME=URL, or one URL for everything (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    #[arg(add = SettingScope::Run)]
    pub upstream: Vec<String>,
    /// What makes two requests the same.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// Replace text that matches this regular expression, before hashing and recording (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    #[arg(add = SettingScope::Run)]
    pub redact: Vec<String>,
    /// Prices per model (JSON), beside or in place of the built-in ones
    #[arg(long, value_name = "FILE", env = "LOOMREC_PRICES")]
    #[arg(add = SettingScope::InputFile)]
    pub prices: Option<PathBuf>,
    /// Print the receipt as JSON on stdout
    #[arg(long)]
    pub json: bool,
}

/// `loomrec export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats: vcr (a cassette of VCR.py, YAML), vcr-json (the same in JSON), har (HAR 1.2, for any
viewer; importing it restores the same recording), agentloom (version 2, without the fields that
only loomrec has), aimock (fixtures), openai-chat (conversations for fine-tuning).

Exit code 0 if calls were exported, 1 if there were none.

Examples:
  loomrec export --to har recordings/agent.json -o agent.har
  loomrec export --to vcr recordings/agent.json > cassette.yaml")]
pub struct ExportArgs {
    /// The recording (or that of the settings)
    #[arg(value_name = "RECORDING", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: String,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// The address to write for an upstream's calls: NAME=URL, or one URL for everything
    /// (repeatable)
    #[arg(long, value_name = "[NAME=]URL", env = "LOOMREC_UPSTREAM", value_delimiter = ' ')]
    #[arg(add = SettingScope::Run)]
    pub upstream: Vec<String>,
    /// Print the receipt as JSON on stdout
    #[arg(long, requires = "output")]
    pub json: bool,
}
