//! An index of a recording: the names in order, and for each take its position and the hash of its
//! request.

use loomrec_identity::RequestKey;
use loomrec_recording::EntryName;
use loomrec_store::{Recording, StoreError, TakeRef};

/// The names of a recording, in order.
#[derive(Debug, Default)]
pub(crate) struct RecordingContents {
    names: Vec<ListedEntry>,
}

/// A name with its takes.
#[derive(Debug)]
pub(crate) struct ListedEntry {
    /// The name.
    pub(crate) name: EntryName,
    /// The takes, in order.
    pub(crate) takes: Vec<NumberedTake>,
}

/// The position of a take.
#[derive(Debug)]
pub(crate) struct NumberedTake {
    /// The position from which the entry is read.
    pub(crate) place: TakeRef,
    /// The hash of the request, as stored in the entry.
    hash: Option<RequestKey>,
}

impl RecordingContents {
    /// Reads through a recording once.
    ///
    /// # Errors
    /// The first entry that cannot be read or used.
    pub(crate) fn from_recording(recording: &Recording) -> Result<Self, StoreError> {
        let mut contents = Self::default();
        for stored in recording.entries() {
            let stored = stored?;
            contents.add_take(&stored.name, stored.place, stored.entry.request_hash);
        }
        Ok(contents)
    }

    /// Adds the next take. The takes of one name are adjacent.
    pub(crate) fn add_take(&mut self, name: &EntryName, place: TakeRef, hash: Option<RequestKey>) {
        let standing = NumberedTake { place, hash };
        match self.names.last_mut().filter(|last| last.name == *name) {
            Some(last) => last.takes.push(standing),
            None => self.names.push(ListedEntry { name: name.clone(), takes: vec![standing] }),
        }
    }

    /// Whether there are no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names in the recording's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ListedEntry> {
        self.names.iter()
    }

    /// Returns the takes whose request hash fulfils a condition, each with its number.
    pub(crate) fn takes_with_hash(
        &self,
        such: impl Fn(&RequestKey) -> bool,
    ) -> impl Iterator<Item = (&ListedEntry, usize)> {
        let takes =
            |named| ListedEntry::numbered_takes(named).map(move |(number, at)| (named, number, at));
        self.names
            .iter()
            .flat_map(takes)
            .filter(move |(_, _, at)| at.hash.as_ref().is_some_and(&such))
            .map(|(named, number, _)| (named, number))
    }
}

impl ListedEntry {
    fn numbered_takes(&self) -> impl Iterator<Item = (usize, &NumberedTake)> {
        self.takes.iter().enumerate().map(|(index, at)| (index + 1, at))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Opens a recording with this text.
    pub(crate) fn recording(text: &str) -> Recording {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, text).unwrap();
        Recording::open(&path).unwrap()
    }

    #[test]
    fn contents_tell_names_takes_and_hashes() {
        let hash = "ab".repeat(32);
        let text = format!(
            r#"{{"a": [{{"request_hash": "{hash}"}}, {{}}], "{hash}": {{}}, "{hash}#2": {{}}}}"#
        );
        let contents = RecordingContents::from_recording(&recording(&text)).unwrap();
        let counts: Vec<(String, usize)> =
            contents.names().map(|named| (named.name.to_string(), named.takes.len())).collect();
        assert_eq!(counts, [("a".to_owned(), 2), (hash, 2)]);
        let all: Vec<usize> =
            contents.takes_with_hash(|_| true).map(|(_, number)| number).collect();
        assert_eq!(all, [1]);
    }
}
