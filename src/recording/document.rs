//! A whole recording as data: ordered names, and the takes of each.

use super::entry::Entry;
use super::entry_name::EntryName;
use super::meta::RecordingMeta;

/// A recording: its metadata, and for each name its takes in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingDocument {
    meta: RecordingMeta,
    takes: Vec<(EntryName, Vec<Entry>)>,
    /// The index of each name in `takes`.
    places: std::collections::BTreeMap<EntryName, usize>,
}

impl RecordingDocument {
    /// An empty recording.
    pub fn new(meta: RecordingMeta) -> Self {
        Self { meta, ..Self::default() }
    }

    /// Returns the recording's metadata.
    pub fn meta(&self) -> &RecordingMeta {
        &self.meta
    }

    /// Whether loomrec wrote it. Otherwise another tool or a person did.
    pub fn is_loomrec(&self) -> bool {
        self.meta.is_loomrec()
    }

    /// Returns the names in the file's order, each with its takes. Every name has at least one.
    pub fn names(&self) -> impl Iterator<Item = (&EntryName, &[Entry])> {
        self.takes.iter().map(|(name, takes)| (name, takes.as_slice()))
    }

    /// Returns every entry in order: its name, its take number counted from 1, and the entry.
    pub fn entries(&self) -> impl Iterator<Item = (&EntryName, usize, &Entry)> {
        self.takes.iter().flat_map(|(name, takes)| {
            takes.iter().enumerate().map(move |(index, entry)| (name, index + 1, entry))
        })
    }

    /// Returns the takes of a name; empty if the name is not recorded.
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

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.takes.is_empty()
    }

    /// Adds an entry. The first take of a run replaces all takes of its name, at the same place in
    /// the file. A further take is put among them by its `recorded_at`. A new name goes to the end.
    /// The recording becomes a loomrec recording under its own rules.
    pub fn record_take(&mut self, name: EntryName, entry: Entry, first_of_run: bool) {
        let rules = self.meta.rules().clone();
        self.meta.adopt(&rules);
        place_take(self.takes_mut(name), entry, first_of_run);
    }

    /// Adds the entries of another recording that are missing here. Merging the same recording
    /// again changes nothing.
    pub fn merge(&mut self, other: &Self) {
        for (name, takes) in other.names() {
            let known = self.takes(name).to_vec();
            for entry in takes.iter().filter(|entry| !known.contains(entry)) {
                self.record_take(name.clone(), entry.clone(), false);
            }
        }
    }

    /// Appends a take in the order of the file, whatever its time.
    pub fn push(&mut self, name: EntryName, entry: Entry) {
        self.takes_mut(name).push(entry);
    }

    fn takes_mut(&mut self, name: EntryName) -> &mut Vec<Entry> {
        let end = self.takes.len();
        let at = *self.places.entry(name.clone()).or_insert(end);
        if at == end {
            self.takes.push((name, Vec::new()));
        }
        &mut self.takes[at].1
    }
}

/// Puts an entry among the takes of its name. The first take of its run replaces them. A further
/// one goes after the last take that was not recorded later, or to the end if it has no time. An
/// entry with a time is added only once, so it is safe to write a batch again.
fn place_take(takes: &mut Vec<Entry>, entry: Entry, first_of_run: bool) {
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
    // Compared as the file would hold them, since it rounds times.
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
