//! The flags of `loomrec merge`.

use clap::{Args, ValueEnum, ValueHint};

use super::SettingScope;
use super::location::{local_location, location};
use loomrec_store::RecordingLocation;

/// `loomrec merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Calls are the same if their key, session, upstream and delivery (streamed or complete) are equal.
Answers are the same if diff finds no difference that counts. A call with different answers in
several recordings is a conflict: nothing is written and the exit code is 1, unless --on-conflict
resolves it.

With the URL of one recording in an object store, loomrec merges what its recorders have uploaded
into a new state: in the last job, after all recorders have ended.

With --git, this is git's merge driver for recordings. Set it up once in the repository, and once
on each machine:
  echo 'recordings/*.json merge=loomrec' >> .gitattributes
  git config merge.loomrec.name 'loomrec recordings'
  git config merge.loomrec.driver 'loomrec merge --git %O %A %B %P'
If both sides added takes, theirs follow ours. In a conflict, ours keeps its own answer, all other
calls are merged, the exit code is 1, and git marks the file. To resolve the conflict:
  LOOMREC_ON_CONFLICT=last git checkout --merge FILE && git add FILE     # theirs
  git add FILE                                                           # ours

Examples:
  loomrec merge -o all.json a.json b.json
  loomrec merge -o a.json a.json b.json --on-conflict last     # b's answers win
  loomrec merge -o all.json shard-*.json --force
  loomrec merge s3://my-bucket/loomrec/agent")]
pub struct MergeArgs {
    /// The recording to write; it may be one of the merged recordings
    #[arg(
        short,
        long,
        value_name = "OUT",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,
    /// Act as git's merge driver: the FILEs are the common ancestor (%O), ours (%A), which gets the
    /// result, theirs (%B), and a name for messages (%P)
    #[arg(long, conflicts_with_all = ["output", "unite_rules", "force", "json"])]
    pub git: bool,
    /// The recordings to merge, or the URL of one in an object store: s3://BUCKET/NAME. @TAG after
    /// it also gives the new state this tag. @sha256:HASH, if the newest state is not known any
    /// more, first makes this one the newest
    #[arg(
        value_name = "FILE",
        required = true,
        value_parser = location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// Which answers to keep if they differ
    #[arg(long, value_enum, default_value_t = OnConflict::Fail, env = "LOOMREC_ON_CONFLICT")]
    #[arg(add = SettingScope::Run)]
    pub on_conflict: OnConflict,
    /// If --ignore rules differ, recompute all keys with the rules of all recordings
    #[arg(long, requires = "output")]
    pub unite_rules: bool,
    /// Overwrite OUT. In an object store, if segments of a recorder are lost: merge those that come
    /// after them, and note what is missing
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long, requires = "output")]
    pub json: bool,
}

impl MergeArgs {
    /// Returns the URL of the remote recording whose uploads are merged. `None` if recordings are
    /// merged.
    #[must_use]
    pub fn remote_url(&self) -> Option<String> {
        match self.files.as_slice() {
            [only] if only.is_url() && self.output.is_none() && !self.git => {
                Some(only.display().to_string())
            }
            _ => None,
        }
    }
}

/// Which answers of a call to keep in a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Report the conflict (exit code 1)
    Fail,
    /// Those of the first recording; in git, ours
    #[value(alias = "ours")]
    First,
    /// Those of the last recording; in git, theirs
    #[value(alias = "theirs")]
    Last,
    /// All, as takes
    Both,
}
