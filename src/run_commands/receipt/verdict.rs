//! How a run ended, in a word.

use owo_colors::OwoColorize as _;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunVerdict {
    /// All that had to hold did.
    Ok,
    /// CMD failed, and nothing else.
    CommandFailed,
    /// Nothing but faults that never happened is wrong.
    NotTested,
    /// Something is wrong.
    Failed,
}

impl RunVerdict {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::CommandFailed => "command failed",
            Self::NotTested => "not tested",
            Self::Failed => "failed",
        }
    }

    /// Returns its word in its colour.
    pub fn to_styled(self) -> String {
        let word = self.as_str();
        match self {
            Self::Ok => word.green().bold().to_string(),
            Self::NotTested => word.yellow().bold().to_string(),
            Self::CommandFailed | Self::Failed => word.red().bold().to_string(),
        }
    }
}
