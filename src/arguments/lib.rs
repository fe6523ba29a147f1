//! Definitions of the command line. Each command works out what its flags mean together.

mod access;
mod config;
mod detailed_choice;
mod diff;
pub mod duration;
mod edit;
mod expiry;
mod fault;
mod from_settings;
mod help;
mod identity;
mod intercept;
mod interchange;
mod journal;
mod limit;
mod listen;
mod location;
mod log_format;
mod mcp;
mod merge;
mod noise;
mod prune;
mod reading;
mod record;
mod redact;
mod remote;
mod replay;
mod rerecord;
mod review;
mod run_value;
mod serve;
mod session;
mod set_aside;
mod setting_scope;
mod strict_effect;
mod tls;
mod trust;
mod ui;
mod verify;

use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand};

pub use access::AccessArgs;
pub use config::{ConfigArgs, GeneratedText};
pub use detailed_choice::DetailedChoice;
pub use diff::DiffArgs;
pub use edit::EditArgs;
pub use expiry::{AgeLimit, ExpiryArgs};
pub use fault::FaultArgs;
pub use from_settings::{FromSettings, TrustedSetting};
pub use help::{COMMAND_GROUPS, HELP_ALL};
pub use identity::{IdentityArgs, ToolResultPolicy};
pub use intercept::InterceptArgs;
pub use interchange::{ExportArgs, ImportArgs};
pub use journal::JournalArgs;
pub use limit::LimitArgs;
pub use log_format::LogFormat;
pub use mcp::McpArgs;
pub use merge::{MergeArgs, OnConflict};
pub use noise::NoiseArgs;
pub use prune::PruneArgs;
pub use reading::{DemoArgs, DoctorArgs, LsArgs, ShowArgs, StatsArgs, StatsBy};
pub use record::{RecordArgs, RecordMode};
pub use redact::RedactArgs;
pub use remote::{GcArgs, KeptStates, PullArgs, PushArgs, RemoteArgs};
pub use replay::{EndOrderFlag, LatencyModel, OnMissFlag, RepeatPolicy, ReplayArgs};
pub use rerecord::RerecordArgs;
pub use review::ReviewArgs;
pub use run_value::RunValueArgs;
pub use serve::ServeArgs;
pub use session::SessionArgs;
pub use set_aside::{HEADER, NORMALIZE, PARAMETER, REDACT, SetAside, ignored_rule};
pub use setting_scope::{SUMMARY_BEGINNING, SettingScope};
pub use strict_effect::StrictEffect;
pub use tls::TlsArgs;
pub use trust::{TrustArgs, TrustGrant};
pub use ui::UiArgs;
pub use verify::{VerifyArgs, VerifyFix};

/// Record every call a program makes to LLM APIs, and replay it strictly.
#[derive(Debug, Parser)]
#[command(
    name = "loomrec",
    version,
    about = "Record every call a program makes to LLM APIs, and replay it strictly: no key, no \
             network, byte for byte",
    arg_required_else_help = true,
    after_help = "\
Getting started:
  loomrec demo                                        no key, no network
  loomrec record -r recordings/agent.json -- pytest   run, and record each call
  loomrec replay --strict -r recordings/agent.json -- pytest
                                                      in CI: milliseconds

Exit codes: 0 success; 1 a check failed (a call was not recorded, CMD made no
call); 2 wrong usage; 3 unexpected error; 4 a recording is missing, damaged or
of a newer format; 5 a recording could not be written completely; 6 an upstream
or the listener is unusable. If CMD fails, loomrec exits with CMD's code."
)]
pub struct Cli {
    /// The project's settings file [default: the nearest loomrec.toml, in this folder or above]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "LOOMREC_CONFIG",
        hide_short_help = true,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::CommandLine)]
    pub config: Option<PathBuf>,

    /// Trust the settings file of this SHA-256, or pointer files to this bucket: for CI
    /// (repeatable)
    #[arg(
        long,
        global = true,
        value_name = "HASH_OR_URL",
        env = "LOOMREC_TRUST",
        value_parser = trust::trust_grant,
        value_delimiter = ' ',
        hide_short_help = true,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::CommandLine)]
    pub trust: Vec<TrustGrant>,

    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Forward every call to its upstream, and record the answer.
    Record(RecordArgs),
    /// Answer calls from recordings, and refuse calls that are not recorded.
    Replay(ReplayArgs),
    /// Put loomrec in front of an MCP server that speaks over stdio.
    Mcp(McpArgs),
    /// List the entries of a recording.
    Ls(LsArgs),
    /// Show one entry in full: request, answer and chunk timeline.
    Show(ShowArgs),
    /// Show what changed between two recordings, call by call.
    Diff(DiffArgs),
    /// Propose the rules that make two recordings of the same run equal.
    Noise(NoiseArgs),
    /// Summarize recordings: calls, tokens, cost and times by upstream and model.
    Stats(StatsArgs),
    /// Send recorded requests again, and keep the new answers apart until you review them.
    Rerecord(RerecordArgs),
    /// Review pending changes: list them, or accept and reject them, one by one, by key or all.
    Review(ReviewArgs),
    /// Check recordings for problems, and fix those that can be fixed without a decision.
    Verify(VerifyArgs),
    /// Merge recordings into one, or what recorders have uploaded to an object store.
    Merge(MergeArgs),
    /// Edit a recorded answer by hand, in your editor.
    Edit(EditArgs),
    /// Remove takes that are no longer needed from a recording.
    Prune(PruneArgs),
    /// Remove credentials, and text that matches your rules, from recordings.
    Redact(RedactArgs),
    /// Upload a recording to an object store, and write a file that points to it.
    Push(PushArgs),
    /// Download a recording from an object store.
    Pull(PullArgs),
    /// Remove what no state of a recording in an object store needs.
    Gc(GcArgs),
    /// Create a recording from another tool's files: cassettes, HAR, fixtures, JSONL.
    Import(ImportArgs),
    /// Write a recording in another tool's format.
    Export(ExportArgs),
    /// Read journals: find calls, or judge the recovery from faults.
    Journal(JournalArgs),
    /// Show a recording or a journal in the browser: calls, conversations, streams.
    Ui(UiArgs),
    /// Trust the project's settings file, after a look at what it asks for.
    Trust(TrustArgs),
    /// Show which settings are in effect and where they come from; presets; shell completions.
    Config(ConfigArgs),
    /// Check for problems that keep loomrec from working here, and suggest a fix for each.
    Doctor(DoctorArgs),
    /// Record and replay a small agent on this machine, then change its prompt: no key, no network.
    Demo(DemoArgs),
}

/// Returns the definition of the command line.
#[must_use]
pub fn command_line() -> clap::Command {
    help::with_groups(help::with_two_forms(Cli::command()))
}
