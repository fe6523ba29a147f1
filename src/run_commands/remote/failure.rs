//! The exit codes of remote recordings.

use loomrec_remote::RemoteError;

use loomrec_cli::exit::{CommandFailure, NOT_KEPT, RECORDING};

/// The failure of a command that reads a remote recording.
pub(super) fn read_failure(error: RemoteError) -> CommandFailure {
    failure_with_code(error, RECORDING)
}

/// The failure of a command that writes to a remote recording.
pub(super) fn write_failure(error: RemoteError) -> CommandFailure {
    failure_with_code(error, NOT_KEPT)
}

fn failure_with_code(error: RemoteError, code: u8) -> CommandFailure {
    if let RemoteError::Store(error) = error {
        return error.into();
    }
    let text = format!("failed to {}", error.chain());
    match error.is_usage() {
        true => CommandFailure::usage(text),
        false => CommandFailure::new(code, text),
    }
}
