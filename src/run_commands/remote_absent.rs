//! Stands in for the module `remote` in builds without the feature of that name: recordings in
//! object stores are refused.

use std::sync::Arc;

use super::args::{Command, GcArgs, LsArgs, MergeArgs, PullArgs, PushArgs, RecordArgs};
use super::receipt::UploadReceipt;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::settings::Settings;
use loomrec_engine::clock::ArrivalClock;
use loomrec_identity::IdentityRules;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::metric::Metrics;

pub(super) use {AbsentNames as RecordingNames, AbsentRecording as RemoteRecording};

fn absent_failure() -> CommandFailure {
    CommandFailure::usage(
        "this loomrec was built without recordings in object stores: install a released build, or \
         run `cargo install loomrec --features remote`",
    )
}

/// Stands in for a recording in an object store. No value of this type exists.
pub(super) struct AbsentRecording {
    /// The rules of the recording.
    pub(super) rules: Option<IdentityRules>,
    /// The recording that answers calls.
    pub(super) answers: Option<RecordingLocation>,
    /// The clock of the calls.
    pub(super) clock: Arc<ArrivalClock>,
    never: std::convert::Infallible,
}

#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
impl AbsentRecording {
    pub(super) async fn begin(
        args: &mut RecordArgs,
        _settings: &Settings,
        _output: &Output,
        _metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, CommandFailure> {
        if args.recording.is_remote() { Err(absent_failure()) } else { Ok(None) }
    }

    pub(super) async fn finish(self) -> UploadReceipt {
        match self.never {}
    }
}

/// The recordings that a server reads again while it serves.
pub(super) struct AbsentNames(Vec<RecordingLocation>);

#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
impl AbsentNames {
    pub(super) fn new(recordings: &[RecordingLocation], _settings: &Settings) -> Self {
        Self(recordings.to_vec())
    }

    pub(super) async fn locate(
        &self,
        _output: &Output,
    ) -> Result<Vec<RecordingLocation>, CommandFailure> {
        Ok(self.0.clone())
    }
}

/// Refuses a command that names a recording in an object store.
///
/// # Errors
/// Such a recording.
#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
pub async fn localize(command: &mut Command, _settings: &Settings) -> Result<(), CommandFailure> {
    let is_remote = super::remote_arguments::read_recordings(command)
        .into_iter()
        .any(|location| location.is_remote());
    if is_remote { Err(absent_failure()) } else { Ok(()) }
}

/// Lists nothing: [`localize`] refuses what is in an object store.
///
/// # Errors
/// None.
#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
pub async fn list(_args: &LsArgs) -> Result<Option<u8>, CommandFailure> {
    Ok(None)
}

/// Refuses `loomrec push`.
///
/// # Errors
/// Always.
#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
pub async fn push(_args: &PushArgs, _settings: &Settings) -> Result<u8, CommandFailure> {
    Err(absent_failure())
}

/// Refuses `loomrec pull`.
///
/// # Errors
/// Always.
#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
pub async fn pull(_args: &PullArgs, _settings: &Settings) -> Result<u8, CommandFailure> {
    Err(absent_failure())
}

/// Refuses `loomrec merge URL`.
///
/// # Errors
/// Always.
#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
pub async fn compact(_args: &MergeArgs, _url: &str) -> Result<u8, CommandFailure> {
    Err(absent_failure())
}

/// Refuses `loomrec gc`.
///
/// # Errors
/// Always.
#[expect(clippy::unused_async, reason = "the same calls as with the feature")]
pub async fn gc(_args: &GcArgs) -> Result<u8, CommandFailure> {
    Err(absent_failure())
}
