//! What a flag can reach if a settings file sets it, as an attribute of the flag at its definition:
//! `#[arg(add = SettingScope::Run)]`.
//!
//! A settings file comes with a repository, and the keys are the user's. So a setting that leads
//! calls, keys or recordings elsewhere, or lets others call, holds only if the user trusts the file.

use clap::Arg;
use clap::builder::ArgExt;

/// The beginning of each summary that loomrec appends to a file.
pub const SUMMARY_BEGINNING: &str = "### loomrec ";

/// What a flag can reach if a settings file sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingScope {
    /// Nothing beyond the run: what is compared, shown, limited or waited for, and names.
    Run,
    /// A file that is read.
    InputFile,
    /// A file that is written.
    OutputFile {
        /// How a file begins that may be written to, if the writer of the file does not check it.
        beginning: Option<&'static str>,
    },
    /// A recording: read or written, on this machine or in an object store. Needs trust if it is in
    /// an object store.
    Recording,
    /// Addresses of upstreams, to which calls go with their keys. Needs trust if a host is neither
    /// a provider's own nor this machine.
    UpstreamAddress,
    /// Where calls go, who may call, or what is sent without a question. Needs trust.
    Outside {
        /// The value that needs no trust, if the flag has one.
        unless: Option<&'static str>,
    },
    /// What is removed from requests before they are compared. Needs trust in a strict replay.
    Redaction,
    /// No setting: only the command line and the environment have it.
    CommandLine,
}

impl ArgExt for SettingScope {}

impl SettingScope {
    /// The scope of a flag of which each value needs trust.
    pub const OUTSIDE: Self = Self::Outside { unless: None };
    /// The scope of an output file whose writer checks what it replaces.
    pub const OUTPUT_FILE: Self = Self::OutputFile { beginning: None };
    /// The scope of a file that summaries are appended to.
    pub const SUMMARY_FILE: Self = Self::OutputFile { beginning: Some(SUMMARY_BEGINNING) };

    /// Returns the scope of an argument. One without the attribute counts as one that needs trust.
    #[must_use]
    pub fn from_argument(arg: &Arg) -> Self {
        arg.get::<Self>().copied().unwrap_or(Self::OUTSIDE)
    }
}
