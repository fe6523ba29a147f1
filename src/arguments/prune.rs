//! The flags of `loomrec prune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::duration::duration;
use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec prune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Takes that meet all that is asked go; nothing is changed without --apply. A take is used when
any of the receipts or journals says so; a journal tells it of all takes of a name at once. Of
the takes of one call, the last can go and none before it: the Nth call gets the Nth take.

Examples:
  loomrec replay -r agent.json --receipt run.receipt -- pytest
  loomrec prune agent.json --unused run.receipt            # what would go
  loomrec prune agent.json --unused run.receipt --apply
  loomrec prune agent.json --older-than 90d --upstream openai --model gpt-4o-mini")]
pub struct PruneArgs {
    /// The recording
    #[arg(value_name = "FILE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// Takes that a whole replay did not use, by its receipt (repeatable)
    #[arg(long, value_name = "RECEIPT")]
    pub unused: Vec<PathBuf>,
    /// Takes of names that a whole replay never asked for, by its journal (repeatable)
    #[arg(long, value_name = "JOURNAL")]
    pub journal: Vec<PathBuf>,
    /// Takes recorded longer ago: 90m, 12h, 30d, 8w
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub older_than: Option<Duration>,
    /// Takes of this upstream
    #[arg(long, value_name = "NAME")]
    pub upstream: Option<String>,
    /// Takes that were asked of this model, or answered by it
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Do it
    #[arg(long)]
    pub apply: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
