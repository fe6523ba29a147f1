//! The takes of a recording, in the order in which they were recorded. Each is read on request.

use std::collections::HashMap;

use serde_json::Value;

use super::super::CallError;
use loomrec_curation::inspection::line;
use loomrec_identity::IdentityRules;
use loomrec_recording::timestamp::parse_micros;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{Recording, StoreError, TakeRef};

/// A recording and the positions of its takes.
#[derive(Debug)]
pub(super) struct TakeList {
    recording: Recording,
    takes: Vec<ListedTake>,
    /// The indexes of the takes of each name.
    names: HashMap<String, Vec<u32>>,
}

/// One take.
#[derive(Debug)]
pub(super) struct ListedTake {
    pub(super) name: EntryName,
    /// The number of the take under that name, from 1.
    pub(super) number: usize,
    place: TakeRef,
    /// When it was recorded, in microseconds since 1970. If that is not recorded, the time of the
    /// take before it.
    at: i64,
}

impl TakeList {
    /// Reads through a recording once.
    ///
    /// # Errors
    /// The first entry that cannot be read or used.
    pub(super) fn from_recording(recording: Recording) -> Result<Self, StoreError> {
        let (mut takes, mut last) = (Vec::new(), i64::MIN);
        for stored in recording.entries() {
            let stored = stored?;
            last = stored.entry.recorded_at.as_deref().and_then(parse_micros).unwrap_or(last);
            let (name, number, place) = (stored.name, stored.take, stored.place);
            takes.push(ListedTake { name, number, place, at: last });
        }
        takes.sort_by_key(|take: &ListedTake| take.at);
        let mut names: HashMap<String, Vec<u32>> = HashMap::new();
        for (index, take) in takes.iter().enumerate() {
            names.entry(take.name.to_string()).or_default().push(index as u32);
        }
        Ok(Self { recording, takes, names })
    }

    pub(super) fn take_count(&self) -> usize {
        self.takes.len()
    }

    /// Returns the identity rules of the recording.
    pub(super) fn identity_rules(&self) -> IdentityRules {
        self.recording.meta().rules().clone()
    }

    /// Returns the take of a line's number, from 1.
    pub(super) fn read_take(&self, line: u64) -> Result<(&ListedTake, Entry), CallError> {
        let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        let take = index.and_then(|index| self.takes.get(index)).ok_or(CallError::NoLine(line))?;
        let read = self.recording.read_entry(&take.place);
        let entry = read.map_err(|error| CallError::Unread(error.error_chain().to_string()))?;
        Ok((take, entry))
    }

    /// Returns the line of this number, or `None` if its take can no longer be read.
    pub(super) fn read_line(&self, number: u64) -> Option<Value> {
        let (take, entry) = self.read_take(number).ok()?;
        Some(line::from_take(Some(number), &take.name, take.number, &entry))
    }

    fn of_name<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a ListedTake> + use<'a> {
        let found = self.names.get(name).map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(|index| self.takes.get(*index as usize))
    }

    /// Returns a take by its name and number.
    pub(super) fn find_take(&self, name: &str, number: usize) -> Option<(&ListedTake, Entry)> {
        let take = self.of_name(name).find(|take| take.number == number)?;
        Some((take, self.recording.read_entry(&take.place).ok()?))
    }

    /// Returns the take that answered the call of a journal's line, or that was recorded from it.
    pub(super) fn of_call(&self, line: &Value) -> Option<Entry> {
        let text = |name: &str| line.get(name).and_then(Value::as_str);
        match text("outcome")? {
            "served" => {
                let take = usize::try_from(line.get("take")?.as_u64()?).ok()?;
                // The header that names an entry contains a hash in place of some names.
                let found = text("entry").and_then(|name| self.find_take(name, take));
                Some(found.or_else(|| self.find_take(text("step_id")?, take))?.1)
            }
            "recorded" => {
                let at = parse_micros(text("at")?)?;
                let name = text("step_id").or_else(|| text("key"))?;
                let take = self.of_name(name).find(|take| take.at == at)?;
                self.recording.read_entry(&take.place).ok()
            }
            _ => None,
        }
    }
}
