//! Definitions of the command line. Each command works out what its flags mean together.

mod access;
mod convert;
mod diff;
pub mod duration;
mod expiry;
mod fault;
mod generate;
mod identity;
mod interchange;
mod journal;
mod limit;
mod location;
mod log_format;
mod merge;
mod prune;
mod reading;
mod record;
mod redact;
mod replay;
mod rerecord;
mod review;
mod salvage;
mod serve;
mod set_aside;
mod ui;
mod verify;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use access::AccessArgs;
pub use convert::ConvertArgs;
pub use diff::DiffArgs;
pub use expiry::{ExpiryArgs, OnExpired};
pub use fault::FaultArgs;
pub use generate::{GenerateArgs, GenerateKind};
pub use identity::IdentityArgs;
pub use interchange::{ExportArgs, ImportArgs};
pub use journal::{JournalArgs, SourceArgument, TimeArgument};
pub use limit::LimitArgs;
pub use log_format::LogFormat;
pub use merge::{GitMergeArgs, MergeArgs, OnConflict};
pub use prune::PruneArgs;
pub use reading::{
    ConfigArgs, DemoArgs, DoctorArgs, LsArgs, ScoreArgs, ShowArgs, StatsArgs, StatsBy,
};
pub use record::{DurableAt, RecordArgs, RecordMode};
pub use redact::RedactArgs;
pub use replay::{LatencyModel, OnMissFlag, RepeatPolicy, ReplayArgs};
pub use rerecord::RerecordArgs;
pub use review::{AcceptArgs, DecideArgs, PendingArgs, RejectArgs, ReviewArgs};
pub use salvage::SalvageArgs;
pub use serve::ServeArgs;
pub use set_aside::SetAside;
pub use ui::UiArgs;
pub use verify::VerifyArgs;

/// Record every call a program makes to LLM APIs, and replay it strictly.
#[derive(Debug, Parser)]
#[command(
    name = "loomrec",
    version,
    about,
    arg_required_else_help = true,
    after_help = "\
The first five minutes:
  loomrec demo                                          see the whole loop, no key, no network
  loomrec record -r recordings/agent.json -- pytest     run it as before; every call is kept
  loomrec replay --strict -r recordings/agent.json -- pytest
                                                        in CI: no key, no network, milliseconds

Exit codes: 0 ok; 1 the answer is \"no\" (a mismatch, nothing served); 2 usage; 3 unexpected;
4 a recording is missing, damaged or too new; 5 a recording could not be kept whole;
6 an upstream or the listener is unusable; with CMD, a CMD that failed passes its own on."
)]
pub struct Cli {
    /// The project's settings [default: the nearest loomrec.toml, from here upward]
    #[arg(long, global = true, value_name = "FILE", env = "LOOMREC_CONFIG")]
    pub config: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Forward every call to its upstream and keep the answer.
    Record(RecordArgs),
    /// Answer every call from recordings; refuse what they do not hold.
    Replay(ReplayArgs),
    /// List what is in a recording.
    Ls(LsArgs),
    /// Show one entry in full: request, answer, chunk timeline.
    Show(ShowArgs),
    /// Tell what changed between two recordings, call by call.
    Diff(DiffArgs),
    /// Sum up recordings: calls, tokens, cost and times by upstream and model.
    Stats(StatsArgs),
    /// Send recorded requests again, and keep the new answers apart for their review.
    Rerecord(RerecordArgs),
    /// Look at the changes that wait for a recording, and accept or reject each.
    Review(ReviewArgs),
    /// Accept changes that wait, all or by key.
    Accept(AcceptArgs),
    /// Reject changes that wait, all or by key.
    Reject(RejectArgs),
    /// Tell which requests wait for answers, and which answers for their review.
    Pending(PendingArgs),
    /// Look for everything that is wrong with recordings, and mend what is mechanical.
    Verify(VerifyArgs),
    /// Save what can be read of a damaged recording or log into a new one.
    Salvage(SalvageArgs),
    /// Merge recordings into one, call by call.
    Merge(MergeArgs),
    /// Merge the two sides of a recording in git, as its merge driver.
    GitMerge(GitMergeArgs),
    /// Take out of a recording what is not needed any more.
    Prune(PruneArgs),
    /// Take credentials, and what rules name, out of recordings.
    Redact(RedactArgs),
    /// Turn a recording in one file into a folder with a file for each call, or back.
    Convert(ConvertArgs),
    /// Make a recording of what another tool kept: cassettes, HAR, fixtures, JSONL, spans.
    Import(ImportArgs),
    /// Write a recording in the format of another tool.
    Export(ExportArgs),
    /// Read journals: calls that are sought, as they come, or summed up.
    Journal(JournalArgs),
    /// Look at a recording or a journal in the browser: calls, conversations, streams.
    Ui(UiArgs),
    /// Tell how well the program recovered from faults, by a journal and a budget.
    Score(ScoreArgs),
    /// Say which settings are in force, and where each of them comes from.
    Config(ConfigArgs),
    /// Look for what keeps loomrec from working here; each finding with its remedy.
    Doctor(DoctorArgs),
    /// Record, replay and break a small agent run on this machine: no key, no network.
    Demo(DemoArgs),
    /// Write shell completions and manual pages.
    Generate(GenerateArgs),
}
