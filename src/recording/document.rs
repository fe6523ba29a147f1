//! A whole recording as data: ordered names, and the takes of each.

use super::entry::Entry;
use super::entry_name::EntryName;
use super::meta::RecordingMeta;

/// A recording: its metadata, and for each name its takes in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingDocument {
    meta: RecordingMeta,
    takes: Vec<(EntryName, Vec<Entry>)>,
    /// Where each name stands in `takes`.
    places: std::collections::BTreeMap<EntryName, usize>,
}

impl RecordingDocument {
    /// An empty recording.
    pub fn new(meta: RecordingMeta) -> Self {
        Self { meta, ..Self::default() }
    }

    /// What the recording says about itself.
    pub fn meta(&self) -> &RecordingMeta {
        &self.meta
    }

    /// Whether loomrec has written it; otherwise AgentLoom did, or a person.
    pub fn is_loomrec(&self) -> bool {
        self.meta.is_loomrec()
    }

    /// The names in the file's order, each with its takes; none is without one.
    pub fn names(&self) -> impl Iterator<Item = (&EntryName, &[Entry])> {
        self.takes.iter().map(|(name, takes)| (name, takes.as_slice()))
    }

    /// Every entry in order: its name, its take counted from 1, and itself.
    pub fn entries(&self) -> impl Iterator<Item = (&EntryName, usize, &Entry)> {
        self.takes.iter().flat_map(|(name, takes)| {
            takes.iter().enumerate().map(move |(index, entry)| (name, index + 1, entry))
        })
    }

    /// The takes of a name; none where the name is not recorded.
    pub fn takes(&self, name: &EntryName) -> &[Entry] {
        match self.places.get(name) {
            Some(&place) => &self.takes[place].1,
            None => &[],
        }
    }

    /// The number of entries, takes included.
    pub fn len(&self) -> usize {
        self.takes.iter().map(|(_, takes)| takes.len()).sum()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.takes.is_empty()
    }

    /// Keeps an entry. The first of a run replaces all takes of its name where
    /// they stand; a further one takes its place among them by `recorded_at`. A
    /// new name goes to the end. The recording becomes ours, under its own rules.
    pub fn record(&mut self, name: EntryName, entry: Entry, first_of_run: bool) {
        let rules = self.meta.rules().clone();
        self.meta.adopt(&rules);
        place(self.slot(name), entry, first_of_run);
    }

    /// Keeps every entry of another recording beside those already here.
    /// Merging the same recording again changes nothing.
    pub fn merge(&mut self, other: &Self) {
        for (name, takes) in other.names() {
            let known = self.takes(name).to_vec();
            for entry in takes.iter().filter(|entry| !known.contains(entry)) {
                self.record(name.clone(), entry.clone(), false);
            }
        }
    }

    /// Appends a take as it stands in a file, whatever its time.
    pub fn push(&mut self, name: EntryName, entry: Entry) {
        self.slot(name).push(entry);
    }

    fn slot(&mut self, name: EntryName) -> &mut Vec<Entry> {
        let end = self.takes.len();
        let at = *self.places.entry(name.clone()).or_insert(end);
        if at == end {
            self.takes.push((name, Vec::new()));
        }
        &mut self.takes[at].1
    }
}

/// Puts an entry among the takes of its name: in their place when it is the
/// first of its run, else behind the last that was recorded no later, or at the
/// end where it has no time. An entry with a time is kept once, so writing a
/// batch again is safe.
fn place(takes: &mut Vec<Entry>, entry: Entry, first_of_run: bool) {
    if first_of_run {
        takes.clear();
    }
    if entry.recorded_at.is_none() {
        takes.push(entry);
        return;
    }
    let at = takes
        .iter()
        .rposition(|take| take.recorded_at <= entry.recorded_at)
        .map_or(0, |before| before + 1);
    // As they stand in the file, since times are rounded there.
    let known = takes[..at]
        .iter()
        .rev()
        .take_while(|take| take.recorded_at == entry.recorded_at)
        .any(|take| take.to_json() == entry.to_json());
    if !known {
        takes.insert(at, entry);
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
