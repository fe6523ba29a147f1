//! Manifests: the states of a remote recording, as lists of takes.
//!
//! A manifest holds every take that was pushed or recorded since the last push, also those that
//! others replace. [`super::take_order`] computes the takes of the recording from them. The same takes
//! give the same manifest, byte for byte, in whatever order they were added.

mod text;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
pub use text::ManifestError;

/// A state of a remote recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateManifest {
    /// The members of the recording that are not entries.
    pub about: Map<String, Value>,
    /// The recorders whose segments are in it, by their ids.
    pub recorders: Vec<ManifestRecorder>,
    /// The pushed takes in their order, then the recorded ones by time.
    pub takes: Vec<ManifestTake>,
}

/// A recorder, and how many of its segments were merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestRecorder {
    /// Its id.
    pub id: String,
    /// The name of its run. Recorders without one belong to a run if their times overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When it began.
    pub started_at: String,
    /// When it recorded its last call.
    pub last_at: String,
    /// The number of the last segment that is merged. All before it are merged, too, but those in
    /// `missing`.
    pub segments: u32,
    /// The segments that were lost when later ones were merged, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u32>,
}

impl ManifestRecorder {
    /// Notes that a segment is merged, and that those before it are missing that are not.
    fn add_segment(&mut self, number: u32) {
        self.missing.extend(self.segments + 1..number);
        self.missing.retain(|&missing| missing != number);
        self.segments = self.segments.max(number);
    }
}

/// A take of a remote recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ManifestTake {
    /// When it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// The id of its recorder. A pushed take has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    /// The name that it is stored under.
    pub name: String,
    /// The hash of the entry's text.
    pub object: ContentHash,
    /// The length of the entry's text in bytes.
    pub bytes: u64,
    /// The session in which it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The hash of its request, if its name is a step id.
    #[serde(default, rename = "request", skip_serializing_if = "Option::is_none")]
    pub request_hash: Option<String>,
    /// Whether it replaces no take of an earlier run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub adds: bool,
    /// Whether its call failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl StateManifest {
    /// Whether a segment is merged.
    pub(crate) fn has_segment(&self, segment: &ListedSegment) -> bool {
        let known = self.find_recorder(&segment.recorder).map(|at| &self.recorders[at]);
        known.is_some_and(|known| {
            segment.number <= known.segments && !known.missing.contains(&segment.number)
        })
    }

    /// Returns the number of the last segment of a recorder that is merged; 0 if there is none.
    pub fn merged_segments(&self, recorder: &str) -> u32 {
        self.find_recorder(recorder).map_or(0, |at| self.recorders[at].segments)
    }

    fn find_recorder(&self, id: &str) -> Option<usize> {
        self.recorders.binary_search_by(|known| known.id.as_str().cmp(id)).ok()
    }

    /// Adds the takes of segments. Each has a recorder, with the number of that segment.
    pub fn add_segments(&mut self, recorders: Vec<ManifestRecorder>, takes: Vec<ManifestTake>) {
        for recorder in recorders {
            match self.find_recorder(&recorder.id) {
                Some(at) => {
                    let known = &mut self.recorders[at];
                    known.add_segment(recorder.segments);
                    if recorder.last_at > known.last_at {
                        known.last_at = recorder.last_at;
                    }
                }
                None => {
                    let mut added = ManifestRecorder { segments: 0, ..recorder };
                    added.add_segment(recorder.segments);
                    self.recorders.push(added);
                }
            }
            self.recorders.sort_by(|one, other| one.id.cmp(&other.id));
        }
        let pushed = self.takes.iter().take_while(|take| take.recorder.is_none()).count();
        let mut recorded: BTreeSet<ManifestTake> =
            self.takes.split_off(pushed).into_iter().collect();
        recorded.extend(takes);
        self.takes.extend(recorded);
    }
}
