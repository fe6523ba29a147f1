//! The flags of `loomrec config`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{ArgGroup, Args, ValueEnum};
use clap_complete::Shell;

/// `loomrec config`.
#[derive(Debug, Args)]
#[command(after_help = "\
A flag takes precedence over the environment, and the environment over loomrec.toml; rules and
upstreams are combined. In loomrec.toml, set any flag that has an environment variable, except
--control-token, by its long name:

  recording = \"recordings/agent.json\"     # paths are relative to the file
  ignore = [\"/user\"]
  [upstreams]
  openai = \"https://gateway.example.com\"
  [replay]
  latency = \"replay\"

Completions and manual pages:
  source <(loomrec config --generate bash)                   # in ~/.bashrc
  loomrec config --generate zsh > ~/.zfunc/_loomrec          # in a folder of $fpath
  loomrec config --generate fish > ~/.config/fish/completions/loomrec.fish
  loomrec config --generate man -o ~/.local/share/man/man1 && man loomrec-record")]
#[command(group = ArgGroup::new("other").args(["preset", "generate"]))]
pub struct ConfigArgs {
    /// Show only the settings of this command
    #[arg(value_parser = ["record", "replay"], conflicts_with = "other")]
    pub command: Option<String>,
    /// Also show the flags that have their defaults; --json always has them
    #[arg(long, conflicts_with = "other")]
    pub all: bool,
    /// List the presets for coding agents instead, or show the one of this name
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    pub preset: Option<Option<String>>,
    /// Print instead the completions for a shell, or loomrec's manual page
    #[arg(long, value_name = "WHAT")]
    pub generate: Option<GeneratedText>,
    /// With --generate man: write one page for each command to this folder, which is created if it
    /// does not exist
    #[arg(short, long, value_name = "DIR", requires = "generate")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "generate")]
    pub json: bool,
}

/// What is made of the definition of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratedText {
    /// Completions for a shell.
    Completions(Shell),
    /// Manual pages.
    Manual,
}

impl ValueEnum for GeneratedText {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Completions(Shell::Bash),
            Self::Completions(Shell::Elvish),
            Self::Completions(Shell::Fish),
            Self::Completions(Shell::PowerShell),
            Self::Completions(Shell::Zsh),
            Self::Manual,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Completions(shell) => shell.to_possible_value(),
            Self::Manual => Some(PossibleValue::new("man")),
        }
    }
}

impl ConfigArgs {
    /// Whether a command's settings are asked for.
    pub fn includes_command(&self, name: &str) -> bool {
        self.command.as_ref().map_or(matches!(name, "record" | "replay"), |only| only == name)
    }
}
