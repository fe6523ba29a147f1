//! The flags of `loomrec record`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum, ValueHint};

use super::ServeArgs;
use super::SettingScope;
use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec record`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec record -r recordings/agent.json -- pytest
  loomrec record -r r.json --upstream openai=http://127.0.0.1:9999 -- pytest
  loomrec record -r r.json                # serve: http://127.0.0.1:4141/openai/v1

Environment variables, and all other flags: loomrec record --help-all")]
pub struct RecordArgs {
    /// The recording to write
    ///
    /// With {session} in its name: a recording for each session. s3://BUCKET/NAME, gs://… and az://…
    /// are in an object store.
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "LOOMREC_RECORDING",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    #[arg(add = SettingScope::Recording)]
    pub recording: RecordingLocation,

    /// Which calls go to the upstream
    #[arg(long, value_enum, default_value_t = RecordMode::All, env = "LOOMREC_MODE")]
    #[arg(add = SettingScope::Run)]
    pub mode: RecordMode,

    /// Let failed calls replace takes that succeeded
    ///
    /// Without it, a failed call is only reported if an earlier take succeeded, and the run fails if
    /// every call failed.
    #[arg(long, env = "LOOMREC_KEEP_FAILURES", value_parser = FalseyValueParser::new())]
    #[arg(add = SettingScope::Run)]
    pub keep_failures: bool,

    /// Keep the audio that clients send over WebSockets
    ///
    /// Without it, a recording has its length and its SHA-256, which is what a replay compares.
    #[arg(long, env = "LOOMREC_KEEP_AUDIO", value_parser = FalseyValueParser::new())]
    #[arg(add = SettingScope::Run)]
    pub keep_audio: bool,

    /// Join the run with this ID, instead of the active run or a new one
    #[arg(long, value_name = "ID", env = "LOOMREC_RUN")]
    #[arg(add = SettingScope::Run)]
    pub run: Option<String>,

    /// Prices per model (JSON), beside or in place of the built-in ones
    #[arg(long, value_name = "FILE", env = "LOOMREC_PRICES")]
    #[arg(add = SettingScope::InputFile)]
    pub prices: Option<PathBuf>,

    /// Refuse calls that would make the run cost more than this many US dollars
    ///
    /// They get a CostLimitError (422), and the run fails. Models without a price are refused, too
    /// (--prices).
    #[arg(long, value_name = "USD", env = "LOOMREC_MAX_COST", value_parser = positive_amount)]
    #[arg(add = SettingScope::Run)]
    pub max_cost: Option<f64>,

    /// Then replay CMD at once without network, and fail unless its calls, output and exit code are
    /// the same
    ///
    /// The output is what CMD prints on stdout, which is then no terminal.
    #[arg(long, env = "LOOMREC_PROVE", value_parser = FalseyValueParser::new())]
    #[arg(add = SettingScope::CommandLine)]
    pub prove: bool,

    /// Do not fail if CMD makes no call
    #[arg(long, env = "LOOMREC_ALLOW_EMPTY", value_parser = FalseyValueParser::new())]
    #[arg(add = SettingScope::Run)]
    pub allow_empty: bool,

    /// Do not look for connections of CMD past loomrec to a known provider
    ///
    /// Without it, loomrec is CMD's https proxy, and names such providers: no replay can answer
    /// these calls.
    #[arg(
        long,
        env = "LOOMREC_NO_GUARD",
        conflicts_with = "intercept",
        value_parser = FalseyValueParser::new()
    )]
    #[arg(add = SettingScope::OUTSIDE)]
    pub no_guard: bool,

    /// The flags of every command that serves.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// Reads an amount of dollars above 0.
fn positive_amount(text: &str) -> Result<f64, String> {
    let amount = text.trim().trim_start_matches('$').parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| format!("{text:?} is not an amount of US dollars above 0, such as 2.50"))
}

/// Which calls to forward to the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum RecordMode {
    /// Every call; a take replaces an earlier one
    All,
    /// Calls without a recorded take left
    NewEpisodes,
    /// Every call, or none if there is a recording
    Once,
    /// None
    None,
}
