//! The flags of `loomrec rules`.

use clap::Args;

/// `loomrec rules`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loomrec rules
  loomrec rules claude-code")]
pub struct RulesArgs {
    /// The preset to show [default: a list of all]
    pub preset: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
