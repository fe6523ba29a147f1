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
    /// What to write.
    #[command(subcommand)]
    pub what: GenerateKind,
}

/// What is written.
#[derive(Debug, Subcommand)]
pub enum GenerateKind {
    /// Completions for a shell, to stdout
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Manual pages: one for each command into a folder, or loomrec's own to stdout
    Man {
        /// The folder, which is made if need be
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}
