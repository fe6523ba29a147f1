//! `loomrec merge URL`: merges what recorders have uploaded.

use loomrec_remote::{
    GapChoice, RecordingBucket, RemoteName, StateSelector, restore_ref, upload_leftovers,
};

use super::failure::{read_failure, write_failure};
use super::folders;
use super::transfer_notice::TransferNotice;
use crate::args::{LogFormat, MergeArgs};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_engine::upstream::install_crypto_provider;

/// Merges what the recorders of this recording have uploaded. With the hash of a state in the URL,
/// first makes this state the newest if the newest is not known. With a tag, gives it to the new
/// state.
///
/// # Errors
/// A name that is wrong (2), a store that cannot be used (5), or a state that is not whole (4).
pub async fn run(args: &MergeArgs, url: &str) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let RemoteName { address, state } = RemoteName::parse(url)
        .map_err(|error| CommandFailure::usage(format!("failed to {error}")))?;
    install_crypto_provider();
    let bucket = RecordingBucket::connect(&address).map_err(write_failure)?;
    let notice = TransferNotice::start(&output, bucket.url());
    let shown = notice.output_above_line(&output);
    if let StateSelector::Manifest(state) = &state {
        restore_ref(&bucket, &folders::local_cache(), state).await.map_err(write_failure)?;
        shown.info(&format!("{address}: the newest state is {state} again"));
    }
    let left = upload_leftovers(&bucket, &folders::state_folder()).await.map_err(write_failure)?;
    if left > 0 {
        shown.info(&format!("{address}: segments uploaded that ended recorders left here: {left}"));
    }
    let choice = if args.force { GapChoice::Skip } else { GapChoice::Refuse };
    let done = loomrec_remote::compact(&bucket, &folders::local_cache(), choice)
        .await
        .map_err(write_failure)?;
    drop(notice);
    let Some(manifest) = done.manifest else {
        output.info(&format!("{address}: there is nothing to merge"));
        return Ok(0);
    };
    if let StateSelector::Tag(tag) = state {
        bucket.write_tag(&tag, &manifest).await.map_err(write_failure)?;
    }
    let (segments, takes) = (done.segments, done.size.takes);
    output.info(&format!(
        "{address}: segments merged: {segments}; takes: {takes}; newest state: {manifest}"
    ));
    done.lost.map_or(Ok(0), |lost| Err(read_failure(lost)))
}
