//! Segments: what a recorder uploads, and the takes in it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;

use loomrec_identity::IdentityRules;
use loomrec_recording::log_codec::{PackedHead, TakePrecedence};
use loomrec_recording::{Entry, EntryName, KeyVariables};
use loomrec_store::SegmentFile;

use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::manifest::ManifestTake;
use super::remote_error::RemoteError;

/// The takes of a segment, and their entries.
pub struct SegmentContents {
    /// The rules that the keys were made under.
    pub rules: IdentityRules,
    /// The key variables that the recorded programs had.
    pub key_variables: KeyVariables,
    /// Each take with the text of its entry.
    pub takes: Vec<(ManifestTake, Vec<u8>)>,
}

/// Reads a segment that was downloaded from the recording at `url`.
///
/// # Errors
/// There is no room for a temporary file, or the segment is damaged.
pub fn read_segment(
    url: &str,
    segment: &ListedSegment,
    bytes: &[u8],
) -> Result<SegmentContents, RemoteError> {
    let object = segment.object_path();
    let damaged = |problem: String| RemoteError::Object {
        path: object.clone(),
        url: url.to_owned(),
        problem,
    };
    if let Some(hash) = &segment.hash {
        let found = ContentHash::from_bytes(bytes);
        if found != *hash {
            return Err(damaged(format!("its bytes have the hash {found}")));
        }
    }
    let path = Path::new(&object);
    let file = spool_file(bytes).map_err(RemoteError::at_path(std::env::temp_dir()))?;
    let opened = SegmentFile::open(file, path).map_err(|error| damaged(error.to_string()))?;
    if opened.is_damaged() {
        return Err(damaged("its bytes are damaged".to_owned()));
    }
    let rules = opened.rules().cloned().unwrap_or_default();
    let key_variables = opened.key_variables().clone();
    let mut takes = Vec::new();
    for entry in opened.entries(path) {
        let (head, entry) = entry.map_err(|error| damaged(error.to_string()))?;
        takes.push(take_of(&segment.recorder, head, &entry));
    }
    Ok(SegmentContents { rules, key_variables, takes })
}

fn spool_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn take_of(recorder: &str, head: PackedHead, entry: &Entry) -> (ManifestTake, Vec<u8>) {
    let (adds, failed) = match head.precedence {
        TakePrecedence::Further => (true, entry.is_lesser_take()),
        TakePrecedence::Replacing(position) => (false, position.failed),
    };
    let request_hash = head.name.step_id().and(entry.request_hash.as_ref());
    let request_hash = request_hash.map(ToString::to_string);
    let (take, text) = describe_take(&head.name, entry);
    let recorder = Some(recorder.to_owned());
    (ManifestTake { recorder, request_hash, adds, failed, ..take }, text)
}

/// Returns an entry as a pushed take, and its text.
pub(crate) fn describe_take(name: &EntryName, entry: &Entry) -> (ManifestTake, Vec<u8>) {
    let text = entry.to_text();
    let take = ManifestTake {
        recorded_at: entry.recorded_at.clone(),
        recorder: None,
        name: name.take_key(1),
        object: ContentHash::from_bytes(&text),
        bytes: text.len() as u64,
        session: entry.session.clone(),
        request_hash: None,
        adds: false,
        failed: entry.is_lesser_take(),
    };
    (take, text)
}
