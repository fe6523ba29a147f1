//! The flags of `loomrec redact`.

use clap::{Args, ValueHint};

use super::SettingScope;
use super::location::local_location;
use loomrec_store::RecordingLocation;

/// `loomrec redact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Removes credentials of known formats, and text that matches --redact, from requests, answers,
step ids and everything else in the files, as record does. The hashes of changed requests are
recomputed. Without --apply, nothing is changed. With it, the file keeps the patterns of --redact:
a replay of it redacts requests in the same way. To record into it, give them again, or set them in
loomrec.toml: redact = ['…'].

Exit code 0 if everything is clean or can be cleaned, 1 if something cannot be removed.

Examples:
  loomrec redact recordings/*.json                              # what would change
  loomrec redact recordings/*.json --redact 'CUST-[0-9]{6}' --apply")]
pub struct RedactArgs {
    /// The recordings (or that of the settings)
    #[arg(
        value_name = "FILE",
        required = true,
        value_parser = local_location(),
        value_hint = ValueHint::AnyPath,
    )]
    pub files: Vec<RecordingLocation>,
    /// Also replace text that matches this regular expression (repeatable)
    #[arg(long, value_name = "REGEX", env = "LOOMREC_REDACT")]
    #[arg(add = SettingScope::Run)]
    pub redact: Vec<String>,
    /// Change the recordings
    #[arg(long)]
    pub apply: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
