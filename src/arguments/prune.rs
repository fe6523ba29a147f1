//! The flags of `loomrec prune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::duration::duration;
use super::location::local_location;
use loomrec_store::RecordingLocation;

/// `loomrec prune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Removes the takes that meet all the given criteria. Without --apply, nothing is changed. A take
is used if any of the receipts or journals says so; a journal does not distinguish the takes of a
key. Takes of a call are removed only from the end, because the Nth call gets the Nth take; KEY#1
removes just this take, and later calls then get the takes after it.

Examples:
  loomrec prune agent.json 3f2c9a1b --apply                # one call
  loomrec replay -r agent.json --receipt run.receipt -- pytest
  loomrec prune agent.json --unused run.receipt            # what would be removed
  loomrec prune agent.json --unused run.receipt --apply
  loomrec prune agent.json --older-than 90d --upstream openai --model gpt-4o-mini")]
pub struct PruneArgs {
    /// The recording (or that of the settings)
    #[arg(value_name = "FILE", value_parser = local_location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// These calls: a step id or the beginning of a hash for all takes of it, KEY#2 for one take
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,
    /// Takes that a complete replay did not use, according to its receipt (repeatable)
    #[arg(long, value_name = "RECEIPT")]
    pub unused: Vec<PathBuf>,
    /// Takes whose key a complete replay never requested, according to its journal (repeatable)
    #[arg(long, value_name = "JOURNAL")]
    pub journal: Vec<PathBuf>,
    /// Takes recorded longer ago than this (90m, 12h, 30d, 8w); takes of an unknown time are kept
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub older_than: Option<Duration>,
    /// Takes of this upstream
    #[arg(long, value_name = "NAME")]
    pub upstream: Option<String>,
    /// Takes whose request names this model, or that this model answered
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Change the recording
    #[arg(long)]
    pub apply: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
