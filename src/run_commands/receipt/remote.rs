//! The recordings of a run that are in object stores.

use serde_json::{Value, json};

use loomrec_store::RecordingLocation;

/// What a run has uploaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadReceipt {
    /// The URL of the recording.
    pub url: String,
    /// How many segments were uploaded.
    pub uploaded: u64,
    /// How many are on this machine only.
    pub left: u64,
    /// Why.
    pub problem: Option<String>,
    /// The hash of the state that they were merged into; `None` if they were not merged.
    pub manifest: Option<String>,
    /// Why they could not be merged.
    pub unmerged: Option<String>,
    /// Names entries of earlier calls that the store has lost.
    pub lost: Option<String>,
}

impl UploadReceipt {
    /// Says that segments are on this machine only, if there are any.
    pub fn unsent_complaint(&self) -> Option<String> {
        let Self { url, left, problem, .. } = self;
        let problem = problem.as_deref().unwrap_or("reach the store");
        (*left > 0).then(|| {
            format!(
                "recorded calls are NOT in {url} (segments: {left}): failed to {problem}; they are \
                 safe on this machine: run `loomrec merge {url}` here"
            )
        })
    }

    /// Says that the store has lost calls of earlier runs, if it has.
    pub fn loss_complaint(&self) -> Option<String> {
        let lost = self.lost.as_ref()?;
        Some(format!(
            "this run's calls are merged, but earlier ones are not whole: failed to {lost}"
        ))
    }

    /// Says that the segments are not merged, if they should be.
    pub fn merge_note(&self) -> Option<String> {
        let Self { url, unmerged, .. } = self;
        let reason = unmerged.as_ref()?;
        Some(format!(
            "the calls are uploaded and not merged yet: failed to {reason}; readers see them, and \
             `loomrec merge {url}` merges them"
        ))
    }
}

/// Returns those of a run's recordings that are in object stores.
pub(super) fn to_json<'a>(
    recordings: impl Iterator<Item = &'a RecordingLocation>,
    upload: Option<&UploadReceipt>,
) -> Value {
    let rows = recordings.filter_map(RecordingLocation::remote_origin).map(|origin| {
        let upload = upload.filter(|upload| upload.url == origin.url);
        let merged = upload.and_then(|upload| upload.manifest.as_ref());
        json!({
            "name": origin.name,
            "url": origin.url,
            "manifest": origin.manifest.as_ref().or(merged),
            "offline": origin.is_offline,
            "age_seconds": origin.age_seconds,
            "fetched": origin.fetched,
            "segments": upload.map(|upload| upload.uploaded),
            "left": upload.map(|upload| upload.left),
        })
    });
    rows.collect()
}
