//! The entries of a recording as they are read for the matcher: with what is found out about each
//! on the thread that reads it.

use loomrec_store::{EntryIter, Recording, StoreError, StoredEntry};

/// An entry that is to be added to the matcher.
pub(super) struct LoadedEntry {
    pub(super) stored: StoredEntry,
    /// The number of its name.
    pub(super) name: u32,
    /// Its text, if that is to be kept.
    pub(super) text: Option<Box<[u8]>>,
    /// Whether its summary says other than its response.
    pub(super) is_misstated: bool,
}

/// Returns the entries of a recording, with the texts of those of at most `small` bytes.
pub(super) fn loaded_entries(
    recording: &Recording,
    small: u64,
) -> impl Iterator<Item = Result<LoadedEntry, StoreError>> + Send {
    let mut entries = recording.entries();
    let next = move |entries: &mut EntryIter<'_>| {
        let stored = match entries.next()? {
            Ok(stored) => stored,
            Err(error) => return Some(Err(error)),
        };
        let is_small = stored.place.byte_length() <= small;
        let text = if is_small { entries.entry_text(&stored.place).map(Into::into) } else { None };
        let is_misstated = stored.entry.misstated_field().is_some();
        Some(Ok(LoadedEntry { stored, name: entries.name_number(), text, is_misstated }))
    };
    std::iter::from_fn(move || next(&mut entries))
}
