//! Differences between requests that earlier calls of a comparison have shown. A conversation
//! repeats them in each request.

use std::collections::HashSet;

use super::CallDifference;
use crate::history::PartHash;

/// The differences between requests that a comparison has shown so far.
#[derive(Debug, Default)]
pub struct ShownDifferences {
    keys: HashSet<PartHash>,
}

/// The differences between two requests.
#[derive(Debug, Default)]
pub(super) struct RequestDifferences {
    pub(super) found: Vec<CallDifference>,
    /// The number of differences that an earlier call has shown.
    pub(super) repeated: usize,
    /// What this call shows for the first time.
    keys: Vec<PartHash>,
}

/// The hashes of a message on both sides.
type MessageHashes = [Option<PartHash>; 2];

impl ShownDifferences {
    /// Whether the difference between these messages was shown.
    pub(super) fn has_messages(&self, messages: MessageHashes) -> bool {
        self.keys.contains(&key_of_messages(messages))
    }

    /// Remembers what a call has shown.
    pub(super) fn add(&mut self, shown: RequestDifferences) {
        self.keys.extend(shown.keys);
    }
}

impl RequestDifferences {
    /// Notes that the difference between these messages is shown.
    pub(super) fn note_messages(&mut self, messages: MessageHashes) {
        self.keys.push(key_of_messages(messages));
    }

    /// Leaves out the differences that were shown at the same place with the same values.
    pub(super) fn leave_out(&mut self, shown: &ShownDifferences) {
        let before = self.found.len();
        let keys = &mut self.keys;
        self.found.retain(|difference| {
            let key = key_of(difference);
            let is_new = !difference.counts || !shown.keys.contains(&key);
            keys.push(key);
            is_new
        });
        self.repeated += before - self.found.len();
    }
}

fn key_of_messages(messages: MessageHashes) -> PartHash {
    let none = PartHash::of_texts(["none"]);
    let start = PartHash::of_texts(["messages"]);
    messages.into_iter().fold(start, |key, hash| key.followed_by(hash.unwrap_or(none)))
}

fn key_of(difference: &CallDifference) -> PartHash {
    let text = |value: &Option<serde_json::Value>| {
        value.as_ref().map_or_else(String::new, ToString::to_string)
    };
    let (old, new) = (text(&difference.old), text(&difference.new));
    PartHash::of_texts([difference.place.as_str(), &old, &new])
}
