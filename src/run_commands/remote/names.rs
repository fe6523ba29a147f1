//! The names of remote recordings on a command line: each is fetched, and becomes a recording of
//! this machine.

use loomrec_remote::{FetchedState, PointerFile, RemoteName, StateFetcher, StateSelector};

use super::check::{BucketCheckFlags, check_recording};
use super::failure::read_failure;
use super::fetcher::{fetcher_with, state_fetcher};
use super::transfer_notice::TransferNotice;
use crate::args::{Command, LogFormat};
use crate::remote_arguments::read_recordings;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::pointer_trust::PointerTrust;
use loomrec_cli::settings::Settings;
use loomrec_engine::upstream::install_crypto_provider;
use loomrec_store::{RecordingLocation, RemoteOrigin};

/// Fetches the remote recordings that a command reads, and puts their places on this machine into
/// its arguments.
///
/// # Errors
/// A name is wrong (2), or a recording cannot be fetched (4).
pub async fn localize(command: &mut Command, settings: &Settings) -> Result<(), CommandFailure> {
    let trust = PointerTrust::from_settings(settings);
    let is_stale_ok = match command {
        Command::Replay(args) => args.remote.stale_ok,
        _ => false,
    };
    let (format, is_quiet) = match command {
        Command::Replay(args) => (args.serve.log_format, args.serve.quiet),
        Command::Verify(args) => (LogFormat::Human, args.quiet),
        _ => (LogFormat::Human, false),
    };
    let output = Output::new(format, is_quiet, false);
    let fetcher = state_fetcher(is_stale_ok);
    let flags = match command {
        Command::Verify(args) => Some(BucketCheckFlags::from_args(args)),
        _ => None,
    };
    for location in read_recordings(command) {
        if location.is_remote() {
            if let Some(flags) = flags {
                let name = read_name(location, &trust)?;
                check_recording(&name, !location.is_url(), flags, &fetcher.cache, &output).await?;
            }
            *location = fetch_recording(location, &trust, &fetcher, &output).await?;
            report_fetch(location, &output);
        }
    }
    Ok(())
}

/// The names of recordings that a server reads again while it serves.
#[derive(Clone)]
pub(crate) struct RecordingNames {
    recordings: Vec<RecordingLocation>,
    trust: PointerTrust,
}

impl RecordingNames {
    /// Keeps the names of recordings that were located once.
    pub(crate) fn new(recordings: &[RecordingLocation], settings: &Settings) -> Self {
        Self { recordings: recordings.to_vec(), trust: PointerTrust::from_settings(settings) }
    }

    /// Returns the places of the recordings now. Remote ones are fetched again.
    ///
    /// # Errors
    /// As [`localize`].
    pub(crate) async fn locate(
        &self,
        output: &Output,
    ) -> Result<Vec<RecordingLocation>, CommandFailure> {
        let mut located = self.recordings.clone();
        for location in &mut located {
            let Some(origin) = location.remote_origin() else { continue };
            let named = RecordingLocation::from(std::path::PathBuf::from(&origin.name));
            *location = fetch_recording(&named, &self.trust, &state_fetcher(false), output).await?;
        }
        Ok(located)
    }
}

/// Reads the name of a remote recording: a URL, or the path of a pointer file.
///
/// # Errors
/// It is neither, or the pointer file cannot be used or names a bucket that the user does not trust.
pub(super) fn read_name(
    location: &RecordingLocation,
    trust: &PointerTrust,
) -> Result<RemoteName, CommandFailure> {
    if location.is_url() {
        let text = location.display().to_string();
        return RemoteName::parse(&text)
            .map_err(|error| CommandFailure::usage(format!("failed to {error}")));
    }
    let pointer = PointerFile::read(location.as_path()).map_err(read_failure)?;
    trust.require_trust(location.as_path(), pointer.address.bucket_url())?;
    let state = StateSelector::Manifest(pointer.manifest);
    Ok(RemoteName { address: pointer.address, state })
}

/// Fetches a remote recording.
async fn fetch_recording(
    location: &RecordingLocation,
    trust: &PointerTrust,
    fetcher: &StateFetcher,
    output: &Output,
) -> Result<RecordingLocation, CommandFailure> {
    let name = read_name(location, trust)?;
    install_crypto_provider();
    let notice = TransferNotice::start(output, &name.address.to_string());
    let state = fetcher_with(fetcher, &notice).fetch_state(&name).await.map_err(read_failure)?;
    Ok(state_location(location.display().to_string(), &name, state))
}

/// Returns the location of a state that was fetched.
pub(super) fn state_location(
    text: String,
    name: &RemoteName,
    state: FetchedState,
) -> RecordingLocation {
    let origin = RemoteOrigin {
        name: text,
        url: name.address.to_string(),
        manifest: Some(state.manifest.to_string()),
        is_offline: state.is_offline,
        age_seconds: state.age.map(|age| age.as_secs()),
        fetched: state.fetched,
    };
    RecordingLocation::from_remote(state.recording, origin)
}

/// Says what was fetched, and what is old.
fn report_fetch(location: &RecordingLocation, output: &Output) {
    let Some(origin) = location.remote_origin() else { return };
    if let Some(age) = origin.age_seconds {
        output.warning(&format!(
            "the store of {} cannot be reached: this is the newest state that this machine has \
             seen, {age} seconds ago",
            origin.name
        ));
    }
    if origin.fetched > 0 {
        output.info(&format!("{}: objects fetched: {}", origin.name, origin.fetched));
    }
}
