//! The flags of `loomrec merge` and `loomrec git-merge`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::location::location;
use loomrec_store::RecordingLocation;

/// `loomrec merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Calls are the same when their key, session, upstream and delivery are, and have the same
answer when diff finds nothing that counts. A call that several recordings answer otherwise
is a conflict: nothing is written and the exit code is 1, unless --on-conflict decides it.

Examples:
  loomrec merge -o all.json a.json b.json
  loomrec merge -o a.json a.json b.json --on-conflict last     # b's answers win
  loomrec merge -o all.json shard-*.json --force")]
pub struct MergeArgs {
    /// The recording to write; may be one of those that are merged
    #[arg(
        short,
        long,
        value_name = "OUT",
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: RecordingLocation,
    /// The recordings to merge
    #[arg(
        value_name = "FILE",
        required = true,
        num_args = 2..,
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// What a call gets that several recordings answer otherwise
    #[arg(long, value_enum, default_value_t = OnConflict::Fail, env = "LOOMREC_ON_CONFLICT")]
    pub on_conflict: OnConflict,
    /// Where --ignore rules differ, make all keys anew under all of them
    #[arg(long)]
    pub unite_rules: bool,
    /// Overwrite OUT
    #[arg(long)]
    pub force: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `loomrec git-merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
git's merge driver for recordings. Once in the repository, and once on each machine:
  echo 'recordings/*.json merge=loomrec' >> .gitattributes
  git config merge.loomrec.name 'loomrec recordings'
  git config merge.loomrec.driver 'loomrec git-merge %O %A %B %P'

Each call is merged by itself; takes that both sides have added stand behind each other. A
call that both sides have changed otherwise is a conflict: OURS keeps its own answer of it,
the rest is merged, the exit code is 1, and git marks the file. To decide, in its place:
  LOOMREC_ON_CONFLICT=last git checkout --merge FILE && git add FILE     # theirs
  git add FILE                                                           # ours")]
pub struct GitMergeArgs {
    /// What both sides come from (%O); an empty file where they share nothing
    #[arg(value_name = "BASE", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub base: RecordingLocation,
    /// Our side (%A), which takes what comes of it
    #[arg(value_name = "OURS", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub ours: RecordingLocation,
    /// Their side (%B)
    #[arg(value_name = "THEIRS", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub theirs: RecordingLocation,
    /// The recording's name in messages (%P)
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// What a call gets that both sides have changed otherwise
    #[arg(long, value_enum, default_value_t = OnConflict::Fail, env = "LOOMREC_ON_CONFLICT")]
    pub on_conflict: OnConflict,
}

/// What a call with a conflict gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Nothing: it is told, and the exit code is 1
    Fail,
    /// The answers of the first recording that has it; in git, ours
    #[value(alias = "ours")]
    First,
    /// The answers of the last one; in git, theirs
    #[value(alias = "theirs")]
    Last,
    /// All of them, as takes one after the other
    Both,
}
