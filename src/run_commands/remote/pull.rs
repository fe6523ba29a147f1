//! The `loomrec pull` command.

use loomrec_remote::{GapChoice, PointerFile, RecordingBucket, StateSelector};

use super::failure::{read_failure, write_failure};
use super::fetcher::{fetcher_with, state_fetcher};
use super::names;
use super::transfer_notice::TransferNotice;
use crate::args::{LogFormat, PullArgs};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::pointer_trust::{PointerTrust, trust_typed};
use loomrec_cli::settings::Settings;
use loomrec_cli::{output_target, serve_setup};
use loomrec_engine::upstream::install_crypto_provider;
use loomrec_store::{RecordingLocation, StoreError};

/// Runs the command.
///
/// # Errors
/// A name that is wrong, or an output that exists (2); a state that cannot be fetched (4); a file
/// that cannot be written (5).
pub async fn run(args: &PullArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    if !args.recording.is_remote() {
        return Err(CommandFailure::usage(format!(
            "{} is on this machine: pull takes a pointer file (NAME.remote.json) or a URL",
            args.recording.display()
        )));
    }
    if let Some(to) = &args.output {
        output_target::refuse_folder("-o", to, "a recording is one file")?;
    }
    let mut name = names::read_name(&args.recording, &PointerTrust::from_settings(settings))?;
    if args.update {
        if args.recording.is_url() {
            return Err(CommandFailure::usage("--update needs a pointer file (NAME.remote.json)"));
        }
        name.state = StateSelector::Newest;
    }
    if args.recording.is_url() {
        trust_typed(name.address.bucket_url());
    }
    install_crypto_provider();
    let notice = TransferNotice::start(&output, &name.address.to_string());
    let fetcher = fetcher_with(&state_fetcher(false), &notice);
    let mut state = fetcher.fetch_state(&name).await.map_err(read_failure)?;
    let text = args.recording.display().to_string();
    if args.update {
        let bucket = RecordingBucket::connect(&name.address).map_err(read_failure)?;
        // A pointer names a state that is in the store, so what is not merged is merged first.
        let merged = loomrec_remote::compact(&bucket, &fetcher.cache, GapChoice::Refuse)
            .await
            .map_err(write_failure)?;
        if let Some(manifest) = merged.manifest {
            let name = loomrec_remote::RemoteName {
                state: StateSelector::Manifest(manifest.clone()),
                ..name.clone()
            };
            state = fetcher.fetch_state(&name).await.map_err(read_failure)?;
            let size = merged.size;
            let address = name.address;
            let pointer = PointerFile { address, manifest, takes: size.takes, bytes: size.bytes };
            pointer.write(args.recording.as_path()).map_err(write_failure)?;
        }
    }
    drop(notice);
    let manifest = state.manifest.to_string();
    let here = names::state_location(text.clone(), &name, state);
    match &args.output {
        Some(to) => write(&here, to, args, &output)?,
        None => output.info(&format!("{text}: {manifest} is in the cache")),
    }
    Ok(0)
}

/// Writes the recording where the user wants it.
fn write(
    here: &RecordingLocation,
    to: &RecordingLocation,
    args: &PullArgs,
    output: &Output,
) -> Result<(), CommandFailure> {
    let from = serve_setup::open(here, output)?;
    let entries = from.entries().map(|stored| {
        let stored = stored?;
        Ok::<_, StoreError>((stored.name, stored.entry))
    });
    let takes = loomrec_store::create_recording(to, from.meta(), entries, args.force)?;
    output.info(&format!("{} -> {}: takes: {takes}", here.display(), to.display()));
    Ok(())
}
