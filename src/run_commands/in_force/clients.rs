//! What clients add to what is in force: rules of sessions, control calls that a strict replay let
//! through, and takes that several sessions got.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The most recordings of sessions that are known again.
const MOST: usize = 10_000;

/// What clients add to what is in force.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientChanges {
    /// What control calls and headers of calls changed in a strict replay, and how often.
    pub(super) control: BTreeMap<String, u64>,
    /// How many takes were served more than once, and by how many further calls.
    pub(super) served_again: (u64, u64),
    /// The recordings of sessions so far.
    recordings: BTreeSet<String>,
    /// How many sessions replayed a recording that an earlier one had replayed.
    pub(super) recordings_again: u64,
}

impl ClientChanges {
    /// Returns the parts of the line for people.
    pub(super) fn summary_parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.control.is_empty() {
            let named = self.control.iter().map(|(asked, times)| match times {
                1 => asked.clone(),
                times => format!("{asked} ({times} times)"),
            });
            let named: Vec<String> = named.collect();
            parts.push(format!("changed by clients (--allow-control): {}", named.join(", ")));
        }
        let (takes, calls) = self.served_again;
        if takes > 0 {
            parts.push(format!(
                "takes served more than once, because each session gets each take: {takes} \
                 (further calls: {calls})"
            ));
        }
        if self.recordings_again > 0 {
            parts.push(format!(
                "sessions that replayed a recording again: {}",
                self.recordings_again
            ));
        }
        parts
    }

    /// Notes the recording of a session that begins. Returns whether it is a new one. One that comes
    /// again is counted in a strict replay.
    pub(super) fn add_recording(&mut self, recording: &str, is_strict: bool) -> bool {
        if self.recordings.contains(recording) {
            self.recordings_again += u64::from(is_strict);
            return false;
        }
        let has_room = self.recordings.len() < MOST;
        has_room && self.recordings.insert(recording.to_owned())
    }

    /// Returns what control calls and headers changed, as JSON.
    pub(super) fn control_json(&self) -> Vec<Value> {
        let shown = |(asked, times): (&String, &u64)| json!({ "asked": asked, "times": times });
        self.control.iter().map(shown).collect()
    }
}
