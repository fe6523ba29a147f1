//! Exit codes, and the failures that end a command early.

use std::process::ExitCode;

use loomrec_engine::replay::LoadError;
use loomrec_store::{ErrorClass, StoreError};

/// The answer is "no": a mismatch, a replay that served nothing.
pub const NO: u8 = 1;
/// The command line is invalid.
pub const USAGE: u8 = 2;
/// An unexpected failure.
pub const UNEXPECTED: u8 = 3;
/// A recording is missing, damaged or of a newer format.
pub const RECORDING: u8 = 4;
/// A recording could not be kept in full.
pub const NOT_KEPT: u8 = 5;
/// The listener or an upstream is unusable.
pub const UNUSABLE: u8 = 6;
/// CMD was found but could not be started. Shells use the same code.
pub const CANNOT_RUN: u8 = 126;
/// CMD was not found. Shells use the same code.
pub const NOT_FOUND: u8 = 127;

/// The failure of a command that could not do its work.
#[derive(Debug)]
pub struct CommandFailure {
    /// The exit code.
    pub code: u8,
    /// The message for the user: what is wrong, where, and what to do.
    pub message: String,
}

impl CommandFailure {
    /// Creates a failure with one of the exit codes of this module.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Creates a failure for an invalid command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// Returns the exit code for the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl From<LoadError> for CommandFailure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Store(error) => error.into(),
            error @ LoadError::TooMany(_) => Self::usage(format!("failed to {error}")),
            error @ (LoadError::Fault { .. } | LoadError::Unchecked { .. }) => {
                Self::new(RECORDING, format!("failed to {error}"))
            }
        }
    }
}

impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        let code = match error.class() {
            ErrorClass::Unusable => RECORDING,
            ErrorClass::Usage => USAGE,
            ErrorClass::NotKept => NOT_KEPT,
        };
        Self::new(code, format!("failed to {}", error.error_chain()))
    }
}
