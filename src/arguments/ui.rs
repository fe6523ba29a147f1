//! The flags of `loomrec ui`.

use clap::{Args, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec ui`.
#[derive(Debug, Args)]
#[command(after_help = "\
While record or replay runs, its listener serves the same page at /__loomrec/.
A journal does not hold the text of requests and answers; -r adds it from the recording.

Examples:
  loomrec ui recordings/agent.json
  loomrec ui run.jsonl -r recordings/agent.json
  loomrec ui recordings/ --port 8080 --no-open")]
pub struct UiArgs {
    /// The recording to show (or that of the settings), or a journal that --journal wrote
    #[arg(value_name = "FILE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The recording that holds the journal's calls
    #[arg(
        short,
        long,
        value_name = "FILE",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub recording: Option<RecordingLocation>,
    /// The port on 127.0.0.1 [default: a free port]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
}
