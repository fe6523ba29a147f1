//! The flags of `loomrec record`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum, ValueHint};

use super::ServeArgs;
use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec record -r recordings/agent.json -- pytest
  loomrec record -r r.json --upstream openai=http://127.0.0.1:9999 -- python agent.py
  loomrec record -r r.json            # serve http://127.0.0.1:4141/openai/v1, …/anthropic, …")]
pub struct RecordArgs {
    /// The recording to write: FILE, or FOLDER/ for a file for each call
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "LOOMREC_RECORDING",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub recording: RecordingLocation,

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
