//! The flags of `loomrec ui`.

use std::net::SocketAddr;

use clap::{Args, ValueHint};

use super::listen::loopback_address;
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
  loomrec ui recordings/ --listen 8080")]
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
    /// The address to listen on, or its port: one of this machine alone [default: a free port]
    #[arg(long, value_name = "ADDR", value_parser = loopback_address)]
    pub listen: Option<SocketAddr>,
}
