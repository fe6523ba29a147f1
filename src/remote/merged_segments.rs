//! The check of segments that the newest state has already, before they are removed.
//!
//! They were left by a compaction that was killed, or uploaded again by a recorder that lost an
//! answer. A segment holds the bytes of its entries, so it mends objects that are damaged or
//! missing.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::bucket::RecordingBucket;
use super::bucket_check::check_entry;
use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::manifest::{ManifestTake, StateManifest};
use super::object_access::PARALLEL;
use super::packed_text::pack_text;
use super::remote_error::RemoteError;
use super::segment::read_segment;

/// Segments that were checked.
#[derive(Debug, Default)]
pub(crate) struct CheckedSegments {
    /// Those whose objects are right: nothing is lost if they are removed.
    pub(crate) whole: Vec<ListedSegment>,
    /// The objects of the others that are not right, and cannot be mended.
    pub(crate) problems: Vec<RemoteError>,
}

/// Checks the objects of segments that are merged into a state. One that is damaged or missing is
/// written again from its segment.
///
/// # Errors
/// The store fails.
pub(crate) async fn check_merged(
    bucket: &RecordingBucket,
    manifest: &StateManifest,
    segments: &[ListedSegment],
) -> Result<CheckedSegments, RemoteError> {
    let mut checked = CheckedSegments::default();
    for segment in segments {
        let Some(bytes) = bucket.get_segment(segment).await? else { continue };
        let problems = match read_segment(bucket.url(), segment, &bytes) {
            Ok(read) => {
                mend_objects(bucket, manifest, read.takes).await?;
                Vec::new()
            }
            // Its own takes are not known, so all of its recorder are checked.
            Err(RemoteError::Object { .. }) => check_recorder(bucket, manifest, segment).await?,
            Err(error) => return Err(error),
        };
        match problems.is_empty() {
            true => checked.whole.push(segment.clone()),
            false => checked.problems.extend(problems),
        }
    }
    Ok(checked)
}

/// Mends the objects that a state needs from the texts of a segment.
async fn mend_objects(
    bucket: &RecordingBucket,
    manifest: &StateManifest,
    takes: Vec<(ManifestTake, Vec<u8>)>,
) -> Result<(), RemoteError> {
    let texts: HashMap<ContentHash, Vec<u8>> =
        takes.into_iter().map(|(take, text)| (take.object, text)).collect();
    let needed = manifest.takes.iter().map(|take| &take.object);
    let needed: HashMap<&ContentHash, &Vec<u8>> =
        needed.filter_map(|object| texts.get_key_value(object)).collect();
    let uploads = needed.into_iter().map(|(hash, text)| async move {
        let packed = pack_text(text).map_err(RemoteError::at("the text of an entry"))?;
        bucket.put_entry(hash, packed).await
    });
    futures_util::stream::iter(uploads).buffer_unordered(PARALLEL).try_collect().await
}

/// Checks the objects of all takes of a segment's recorder. Returns those that are not right.
async fn check_recorder(
    bucket: &RecordingBucket,
    manifest: &StateManifest,
    segment: &ListedSegment,
) -> Result<Vec<RemoteError>, RemoteError> {
    let recorder = Some(segment.recorder.as_str());
    let takes = manifest.takes.iter().filter(|take| take.recorder.as_deref() == recorder);
    let checks = takes.map(|take| check_entry(bucket, &take.object, take.bytes));
    let checks = futures_util::stream::iter(checks).buffer_unordered(PARALLEL);
    let found: Vec<Option<RemoteError>> = checks.try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}
