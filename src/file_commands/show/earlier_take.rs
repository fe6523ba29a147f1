//! The earlier take of a recording that a shown take continues, and what both have.

use super::super::ls::TakeRow;
use loomrec_cli::short_key::short_key;
use loomrec_curation::history::{CarriedParts, ContinuedCall, RequestHistory, continued_calls};
use loomrec_recording::EntryName;
use loomrec_store::{Recording, StoreError, StoredEntry, TakeRef};

/// The takes of a recording in its order, with what they continue.
pub(super) struct ContinuedTakes {
    takes: Vec<KnownTake>,
    continued: Vec<Option<ContinuedCall>>,
}

struct KnownTake {
    name: EntryName,
    number: usize,
    place: TakeRef,
}

/// An earlier take that a take continues.
pub(super) struct ContinuedTake {
    /// How the take continues it.
    pub(super) continued: ContinuedCall,
    /// Its key for people.
    pub(super) key: String,
    /// How many takes it is before the other one in the recording; negative if it is behind.
    pub(super) distance: isize,
    /// The parts of the later request that it has already.
    pub(super) carried: CarriedParts,
    /// The headers of its request.
    pub(super) headers: Vec<(String, String)>,
}

impl ContinuedTake {
    /// Returns the take that a take of a recording continues.
    pub(super) fn find_for_row(
        recording: &Recording,
        row: &TakeRow,
    ) -> Result<Option<Self>, StoreError> {
        // Most calls of most recordings are no part of a longer conversation.
        if !RequestHistory::of_entry(&row.entry).is_some_and(|history| history.may_continue()) {
            return Ok(None);
        }
        let takes = ContinuedTakes::from_recording(recording)?;
        let is_it = |take: &KnownTake| take.number == row.take && take.name == row.name;
        match takes.takes.iter().position(is_it) {
            Some(at) => takes.read_earlier(recording, at, row),
            None => Ok(None),
        }
    }
}

impl ContinuedTakes {
    /// Reads through a recording once.
    pub(super) fn from_recording(recording: &Recording) -> Result<Self, StoreError> {
        let (mut takes, mut histories) = (Vec::new(), Vec::new());
        for stored in recording.entries() {
            let StoredEntry { name, take, entry, place } = stored?;
            histories.push(RequestHistory::of_entry(&entry));
            takes.push(KnownTake { name, number: take, place });
        }
        let histories: Vec<_> = histories.iter().map(Option::as_ref).collect();
        Ok(Self { continued: continued_calls(&histories), takes })
    }

    /// Reads the take that the take at this position continues.
    pub(super) fn read_earlier(
        &self,
        recording: &Recording,
        at: usize,
        row: &TakeRow,
    ) -> Result<Option<ContinuedTake>, StoreError> {
        let Some(continued) = self.continued.get(at).copied().flatten() else { return Ok(None) };
        let take = &self.takes[continued.earlier];
        let earlier = recording.read_entry(&take.place)?;
        let carried = CarriedParts::of_entries(continued, &earlier, &row.entry);
        Ok(carried.map(|carried| ContinuedTake {
            continued,
            key: short_key(&take.name, take.number),
            distance: at.cast_signed() - continued.earlier.cast_signed(),
            carried,
            headers: earlier.request_headers().to_vec(),
        }))
    }
}
