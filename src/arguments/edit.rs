//! The flags of `loomrec edit`.

use clap::{Args, ValueHint};

use super::location::local_location;
use loomrec_store::RecordingLocation;

/// `loomrec edit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Opens the answer in $VISUAL or $EDITOR: JSON laid out, a stream as its events. What comes back is
checked, gets the style and the times of what it replaces, and its summary (text, tokens, cost) is
read again. The entry notes when it was edited; verify and each replay name it. The request and
its key stay.

Exit code 0, also if nothing was changed; 2 if the text is no answer: it is kept in a file, and the
recording is as it was.

Examples:
  loomrec edit agent.json 3f2c9a1b
  EDITOR='sed -i s/sunny/rainy/' loomrec edit agent.json 3f2c9a1b#2")]
pub struct EditArgs {
    /// The recording (or that of the settings)
    #[arg(value_name = "FILE", value_parser = local_location(), value_hint = ValueHint::AnyPath)]
    pub file: RecordingLocation,
    /// The answer: a step id or the beginning of a hash; KEY#2 for the second take. Optional if there
    /// is only one entry
    #[arg(value_name = "KEY")]
    pub key: Option<String>,
}
