//! The flags of `loomrec generate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

/// `loomrec generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(loomrec generate completions bash)                   # in ~/.bashrc
  loomrec generate completions zsh > ~/.zfunc/_loomrec          # in a folder of $fpath
  loomrec generate completions fish > ~/.config/fish/completions/loomrec.fish
  loomrec generate man -o ~/.local/share/man/man1 && man loomrec-record")]
pub struct GenerateArgs {
    /// What to generate.
    #[command(subcommand)]
    pub what: GenerateKind,
}

/// What is generated.
#[derive(Debug, Subcommand)]
pub enum GenerateKind {
    /// Write completions for a shell to stdout
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write one manual page per command to a folder, or loomrec's main page to stdout
    Man {
        /// The folder for the pages; created if it does not exist
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}
