//! The check of what a bucket holds, before a recording in it is verified.

use loomrec_remote::{
    BucketCheck, CheckDepth, ContentHash, LocalCache, RecordingBucket, RemoteError, RemoteName,
    SecretFree, StateSelector, check_bucket, repair_bucket,
};

use super::failure::read_failure;
use super::transfer_notice::TransferNotice;
use crate::args::VerifyArgs;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_engine::upstream::install_crypto_provider;

/// What to check and restore.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketCheckFlags {
    depth: CheckDepth,
    is_deep: bool,
    fix: bool,
}

impl BucketCheckFlags {
    pub(super) fn from_args(args: &VerifyArgs) -> Self {
        // What is damaged is found only if it is read.
        let fix = args.fix.is_some();
        let is_deep = args.deep || fix;
        let depth = if is_deep { CheckDepth::Contents } else { CheckDepth::Listing };
        Self { depth, is_deep, fix }
    }
}

/// Checks the objects that a remote recording needs, and restores them if that is wanted. Without
/// a store, a pointer file is checked against the cache alone, which is said.
///
/// # Errors
/// An object cannot be used, or the store cannot.
pub(super) async fn check_recording(
    name: &RemoteName,
    is_pointer: bool,
    flags: BucketCheckFlags,
    cache: &LocalCache,
    output: &Output,
) -> Result<(), CommandFailure> {
    install_crypto_provider();
    let notice = TransferNotice::start(output, &name.address.to_string());
    match check_objects(name, flags, cache, &notice.output_above_line(output)).await {
        Err(error) if is_pointer && !flags.is_deep && !error.is_about_objects() => {
            notice.output_above_line(output).warning(&format!(
                "{}: the store was not checked: failed to {}",
                name.address,
                error.chain()
            ));
            Ok(())
        }
        checked => checked.map_err(read_failure),
    }
}

async fn check_objects(
    name: &RemoteName,
    flags: BucketCheckFlags,
    cache: &LocalCache,
    output: &Output,
) -> Result<(), RemoteError> {
    let bucket = RecordingBucket::connect(&name.address)?;
    let state = match &name.state {
        StateSelector::Newest => None,
        StateSelector::Manifest(hash) => Some(hash.clone()),
        StateSelector::Tag(tag) => Some(bucket.tagged_state(tag).await?),
    };
    if flags.fix {
        return restore_objects(&bucket, cache, None, state.as_ref(), output).await;
    }
    let check = check_bucket(&bucket, cache, state.as_ref(), flags.depth).await?;
    say_checked(&bucket, &check, output);
    check.into_error().map_or(Ok(()), Err)
}

/// Restores the objects of a state, or of the newest one and those with tags, and says how many.
///
/// # Errors
/// An object cannot be restored, or the store cannot be used.
pub(super) async fn restore_objects(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    recording: Option<&SecretFree<'_>>,
    state: Option<&ContentHash>,
    output: &Output,
) -> Result<(), RemoteError> {
    let mut check = check_bucket(bucket, cache, state, CheckDepth::Contents).await?;
    let mut restored = repair_bucket(bucket, cache, recording, &mut check).await?;
    if check.is_partial && restored > 0 {
        // A manifest is there again, which names more objects.
        check = check_bucket(bucket, cache, state, CheckDepth::Contents).await?;
        restored += repair_bucket(bucket, cache, recording, &mut check).await?;
    }
    output.info(&format!("{}: objects restored: {restored}", bucket.url()));
    say_checked(bucket, &check, output);
    check.into_error().map_or(Ok(()), Err)
}

/// Says what was checked, and which segments are known to be lost.
fn say_checked(bucket: &RecordingBucket, check: &BucketCheck, output: &Output) {
    output.info(&format!(
        "{}: states checked: {}; objects: {}; unusable: {}",
        bucket.url(),
        check.states,
        check.objects,
        check.damaged_count()
    ));
    if check.missing_segments > 0 {
        output.warning(&format!(
            "{}: segments that were lost when later ones were merged (merge --force): {}",
            bucket.url(),
            check.missing_segments
        ));
    }
}
