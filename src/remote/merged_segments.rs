//! The check of segments that the newest state has already, before they are removed.
//!
//! They were left by a compaction that was killed, or uploaded again by a recorder that lost an
//! answer. A segment holds the bytes of its entries, so it mends objects that are damaged or
//! missing.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::entry_check::{CheckDepth, StateLayout, check_entries};
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

/// Checks the entries of segments that are merged into a state. One that is damaged or missing is
/// written again from its segment, as an object.
///
/// # Errors
/// The store fails.
pub(crate) async fn check_merged(
    bucket: &RecordingBucket,
    layout: &StateLayout,
    manifest: &StateManifest,
    segments: &[ListedSegment],
) -> Result<CheckedSegments, RemoteError> {
    let mut checked = CheckedSegments::default();
    let mut layout = layout.clone();
    for segment in segments {
        let Some(bytes) = bucket.get_segment(segment).await? else { continue };
        let problems = match read_segment(bucket.url(), segment, &bytes) {
            Ok(read) => {
                mend_entries(bucket, &mut layout, read.takes).await?;
                Vec::new()
            }
            // Its own takes are not known, so all of its recorder are checked.
            Err(RemoteError::Object { .. }) => {
                let recorder = Some(segment.recorder.as_str());
                let takes = manifest.takes.iter();
                let takes = takes.filter(|take| take.recorder.as_deref() == recorder);
                let entries: HashSet<&ContentHash> = takes.map(|take| &take.object).collect();
                let layout = layout.only_wanted(|hash| entries.contains(hash));
                let found = check_entries(bucket, &[layout], CheckDepth::Contents).await?;
                found.into_values().collect()
            }
            Err(error) => return Err(error),
        };
        match problems.is_empty() {
            true => checked.whole.push(segment.clone()),
            false => checked.problems.extend(problems),
        }
    }
    Ok(checked)
}

/// Mends the entries that a state needs from the texts of a segment.
async fn mend_entries(
    bucket: &RecordingBucket,
    layout: &mut StateLayout,
    takes: Vec<(ManifestTake, Vec<u8>)>,
) -> Result<(), RemoteError> {
    let texts: HashMap<ContentHash, Vec<u8>> =
        takes.into_iter().map(|(take, text)| (take.object, text)).collect();
    let needed = layout.only_wanted(|hash| texts.contains_key(hash));
    let is_packed = |hash: &ContentHash| layout.index.find_entry(hash).is_some();
    let packed = needed.only_wanted(is_packed);
    let broken = check_entries(bucket, &[packed], CheckDepth::Contents).await?;
    let mended: HashSet<ContentHash> = broken.into_keys().collect();
    // Those that should be objects are checked as they are written.
    let loose = needed.needed.keys().filter(|hash| !is_packed(hash));
    let wanted: Vec<&ContentHash> = loose.chain(&mended).collect();
    let uploads = wanted.into_iter().filter_map(|hash| texts.get_key_value(hash));
    let uploads = uploads.map(|(hash, text)| async move {
        let packed = pack_text(text).map_err(RemoteError::at_path("the text of an entry"))?;
        bucket.put_entry(hash, packed).await
    });
    let uploads = futures_util::stream::iter(uploads).buffer_unordered(PARALLEL);
    uploads.try_collect::<()>().await?;
    bucket.remove_from_index(&layout.state, &layout.index, &mended).await?;
    layout.index = layout.index.filtered(|_| true, |hash| !mended.contains(hash));
    Ok(())
}
