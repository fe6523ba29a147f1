//! The flags of the commands for recordings in object stores.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueHint};

use super::duration::duration;
use super::location::{local_location, location};
use super::{SettingScope, StrictEffect};
use loomrec_store::RecordingLocation;

/// `loomrec push`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec push recordings/agent.json s3://my-bucket/loomrec/agent
  loomrec push recordings/agent.json        # to where its pointer file points
  loomrec push recordings/agent.json @v1.2  # and give the state this tag

The store is found by the usual variables, such as AWS_REGION and AWS_ENDPOINT_URL: docs/remote.md")]
pub struct PushArgs {
    /// The recording to upload
    #[arg(value_name = "RECORDING", value_parser = local_location(), value_hint = ValueHint::AnyPath)]
    pub recording: RecordingLocation,
    /// Where to: s3://BUCKET/NAME, gs://BUCKET/NAME or az://CONTAINER/NAME [default: that of the
    /// pointer file]. @TAG after it, or alone, also gives the state this tag; a tag never moves
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// The pointer file to write [default: RECORDING with .remote.json in place of .json]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace the newest state even if the pointer file names another one
    #[arg(long)]
    pub force: bool,
    /// Change no state: restore missing or damaged objects from RECORDING, the cache and segments
    #[arg(long, conflicts_with = "force")]
    pub fix: bool,
}

/// `loomrec pull`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec pull recordings/agent.remote.json              # fill the cache, for a replay offline
  loomrec pull s3://my-bucket/loomrec/agent -o agent.json
  loomrec pull --update recordings/agent.remote.json     # point to the newest state")]
pub struct PullArgs {
    /// The remote recording: a pointer file or a URL
    #[arg(value_name = "NAME", value_parser = location(), value_hint = ValueHint::AnyPath)]
    pub recording: RecordingLocation,
    /// Write the recording to FILE
    #[arg(
        short,
        long,
        value_name = "FILE",
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub output: Option<RecordingLocation>,
    /// Replace an existing recording
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Make the pointer file name the newest state, after a merge of segments
    #[arg(long)]
    pub update: bool,
}

/// `loomrec gc`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec gc s3://my-bucket/loomrec/agent           # shows what would be removed
  loomrec gc s3://my-bucket/loomrec/agent --apply --keep .
  loomrec gc s3://my-bucket/loomrec/agent --purge   # after a leak: docs/remote.md")]
pub struct GcArgs {
    /// The remote recording: s3://BUCKET/NAME, gs://BUCKET/NAME or az://CONTAINER/NAME
    #[arg(value_name = "URL")]
    pub url: String,
    /// Keep all states that are younger than this, such as 30d or 12h [default: 90d], or those that
    /// pointer files below this folder name (repeatable)
    #[arg(long, value_name = "TIME|DIR", value_parser = KeptStates::parse, value_hint = ValueHint::DirPath)]
    pub keep: Vec<KeptStates>,
    /// Keep the newest state alone, also if others are young or have tags: for content that must
    /// not stay
    #[arg(long, conflicts_with = "keep")]
    pub purge: bool,
    /// Remove the whole recording
    #[arg(long, conflicts_with_all = ["keep", "purge"])]
    pub delete: bool,
    /// Remove the objects; without it, their paths are printed on stdout
    #[arg(long)]
    pub apply: bool,
}

/// The states that `gc` keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptStates {
    /// Those that are younger than this.
    Younger(Duration),
    /// Those that pointer files below this folder name.
    Pinned(PathBuf),
}

impl KeptStates {
    /// Reads a time; any other text is a folder.
    fn parse(text: &str) -> Result<Self, String> {
        let is_time = text.starts_with(|first: char| first.is_ascii_digit());
        match duration(text) {
            Ok(time) => Ok(Self::Younger(time)),
            Err(why) if is_time => Err(format!("{why}, or a folder as ./{text}")),
            Err(_) => Ok(Self::Pinned(text.into())),
        }
    }
}

/// The flags of commands that read remote recordings.
#[derive(Clone, Debug, Default, Args)]
pub struct RemoteArgs {
    /// If the store cannot be reached: use the newest state that this machine has seen
    #[arg(
        long,
        env = "LOOMREC_STALE_OK",
        value_parser = FalseyValueParser::new(),
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub stale_ok: bool,
}
