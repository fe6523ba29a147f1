//! A recording that is compared with another one, and the calls of both that belong together.

use loomrec_curation::comparison::{CallDigest, CallPair, pair_calls};
use loomrec_identity::IdentityRules;
use loomrec_recording::Entry;
use loomrec_store::{Recording, RecordingLocation, StoreError, TakeRef};

/// A recording with digests of its calls.
pub(crate) struct OpenedRecording {
    /// How the user named it.
    pub(crate) label: String,
    /// The recording.
    pub(crate) recording: Recording,
    /// The digest of each call.
    pub(crate) known: Vec<CallDigest>,
    /// Where each call is.
    places: Vec<TakeRef>,
}

impl OpenedRecording {
    /// Reads all calls once.
    pub(crate) fn from_recording(
        path: &RecordingLocation,
        recording: Recording,
        rules: &IdentityRules,
    ) -> Result<Self, StoreError> {
        let (mut known, mut places) = (Vec::new(), Vec::new());
        for stored in recording.entries() {
            let stored = stored?;
            known.push(CallDigest::from_entry(stored.name, stored.take, &stored.entry, rules));
            places.push(stored.place);
        }
        Ok(Self { label: path.display().to_string(), recording, known, places })
    }

    /// Reads one call again.
    pub(crate) fn read_entry(&self, at: usize) -> Result<Entry, StoreError> {
        self.recording.read_entry(&self.places[at])
    }
}

/// Returns which calls of two recordings belong together.
pub(crate) fn pair_recordings(
    old: &OpenedRecording,
    new: &OpenedRecording,
    rules: &IdentityRules,
) -> Result<Vec<CallPair>, StoreError> {
    let mut failed = None;
    let mut last: Option<(usize, Entry)> = None;
    let found = pair_calls(&old.known, &new.known, |at, other| {
        if failed.is_some() {
            return None;
        }
        if last.as_ref().is_none_or(|(read, _)| *read != at) {
            last = old.read_entry(at).map_err(|error| failed = Some(error)).ok().map(|e| (at, e));
        }
        let other = new.read_entry(other).map_err(|error| failed = Some(error)).ok()?;
        request_distance(&last.as_ref()?.1, &other, rules)
    });
    failed.map_or(Ok(found), Err)
}

/// Returns how much two requests differ, in about bytes.
fn request_distance(old: &Entry, new: &Entry, rules: &IdentityRules) -> Option<u64> {
    let (asked, asks) = (old.recognise_call()?, new.recognise_call()?);
    let (old, new) = (old.key_parts(&asked)?, new.key_parts(&asks)?);
    match (old.json_body(), new.json_body()) {
        (Some(one), Some(other)) => Some(loomrec_identity::body_distance(&one, &other, rules)),
        _ if old.body == new.body => Some(0),
        _ => None,
    }
}
