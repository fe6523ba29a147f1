//! The inspector's view of files: a recording, take by take, or a journal, line by line, with the
//! recording that holds its calls.
//!
//! Only the positions of takes and lines are held in memory. Their contents are read on request.

mod journal;
mod take;

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::earlier::{FoundEarlier, find_earlier};
use super::inspected_calls::{InspectedCalls, ReadCall};
use super::questions::{LineNumbers, short_question};
use super::{CallError, CallSelector, InspectedSubject};
pub use journal::JournalIndex;
use loomrec_curation::inspection::{InspectedCall, line};
use loomrec_identity::IdentityRules;
use loomrec_recording::Entry;
use loomrec_store::{Recording, StoreError};
use loomrec_telemetry::journal::follow::JournalQuery;
use take::TakeList;

/// About how many bytes of lines are returned at once.
const PIECE: usize = 64 << 10;

/// The files that are shown.
#[derive(Debug)]
pub struct ShownFile {
    /// The paths of the files.
    files: Vec<String>,
    /// The journal, if one is shown.
    journal: Option<JournalIndex>,
    /// The recording that is shown, or that holds the journal's calls.
    takes: Option<TakeList>,
}

impl ShownFile {
    /// Shows a recording.
    ///
    /// # Errors
    /// An entry that cannot be read or used.
    pub fn from_recording(path: PathBuf, recording: Recording) -> Result<Self, StoreError> {
        let takes = Some(TakeList::from_recording(recording)?);
        Ok(Self { files: vec![path.display().to_string()], journal: None, takes })
    }

    /// Shows a journal, and the recording that holds its calls, if one is given.
    ///
    /// # Errors
    /// An entry of the recording that cannot be read or used.
    pub fn from_journal(
        journal: JournalIndex,
        recording: Option<(PathBuf, Recording)>,
    ) -> Result<Self, StoreError> {
        let mut files = vec![journal.path().display().to_string()];
        files.extend(recording.iter().map(|(path, _)| path.display().to_string()));
        let takes =
            recording.map(|(_, recording)| TakeList::from_recording(recording)).transpose()?;
        Ok(Self { files, journal: Some(journal), takes })
    }

    /// Describes what is shown.
    pub fn describe_subject(&self) -> Value {
        InspectedSubject {
            kind: if self.journal.is_some() { "journal" } else { "recording" },
            mode: None,
            files: self.files.clone(),
            live: self.journal.as_ref().is_some_and(JournalIndex::is_growing),
            token_needed: false,
            calls: Some(self.line_count() as u64),
            in_force: None,
        }
        .to_json()
    }

    /// Returns the number of lines.
    fn line_count(&self) -> usize {
        match (&self.journal, &self.takes) {
            (Some(journal), _) => journal.line_count(),
            (None, takes) => takes.as_ref().map_or(0, TakeList::take_count),
        }
    }

    /// Whether more lines may be added.
    pub fn may_grow(&self) -> bool {
        self.journal.is_some()
    }

    /// Returns the next lines of a query, about 64 KiB at most, and advances `wanted`.
    pub fn next_lines(&self, wanted: &mut JournalQuery) -> Vec<u8> {
        if let Some(journal) = &self.journal {
            journal.read_new_lines();
        }
        let (mut out, count) = (Vec::new(), self.line_count() as u64);
        while wanted.after < count && out.len() < PIECE {
            wanted.after += 1;
            let line = self.read_line(wanted.after);
            if wanted.from.is_none_or(|from| line_time(&line).is_none_or(|at| at >= from)) {
                out.extend_from_slice(line.to_string().as_bytes());
                out.push(b'\n');
            }
        }
        out
    }

    /// Returns a line by its number, from 1. A line that can no longer be read is replaced by one
    /// that says so.
    fn read_line(&self, number: u64) -> Value {
        let line = match (&self.journal, &self.takes) {
            (Some(journal), _) => journal.read_line(number),
            (None, Some(takes)) => takes.read_line(number),
            (None, None) => None,
        };
        line.unwrap_or_else(|| json!({ "v": 1, "seq": number, "outcome": "skipped", "lines": 1 }))
    }

    /// Returns the entry of a line, as far as a recording that is shown holds it.
    fn read_entry(&self, number: u64) -> Option<Entry> {
        let takes = self.takes.as_ref()?;
        match &self.journal {
            Some(journal) => {
                let line = journal.read_line(number)?;
                let entry = takes.of_call(&line);
                ReadCall { line, entry }.into_entry()
            }
            None => Some(takes.read_take(number).ok()?.1),
        }
    }

    /// Returns what these calls ask, by their numbers, as far as a recording that is shown holds
    /// their requests.
    pub fn read_questions(&self, numbers: &LineNumbers) -> HashMap<u64, String> {
        let entry = |number| self.read_entry(number);
        let question = |&number: &u64| Some((number, short_question(&entry(number)?)?));
        numbers.as_slice().iter().filter_map(question).collect()
    }

    /// Returns everything about one call.
    ///
    /// # Errors
    /// [`CallError`] if there is nothing to show.
    pub fn find_call(&self, which: &CallSelector) -> Result<Value, CallError> {
        match which {
            CallSelector::Take { key, take } => self.find_take(key, *take),
            CallSelector::Line(number) if *number == 0 || *number > self.line_count() as u64 => {
                Err(CallError::NoLine(*number))
            }
            CallSelector::Line(number) if self.journal.is_some() => Ok(self.of_journal(*number)),
            CallSelector::Line(number) => {
                let takes = self.takes.as_ref().ok_or(CallError::NoLine(*number))?;
                let (take, entry) = takes.read_take(*number)?;
                let line = line::from_take(Some(*number), &take.name, take.number, &entry);
                let earlier = find_earlier(*number, &entry, |number| self.read_entry(number));
                let call = InspectedCall {
                    seq: Some(*number),
                    line,
                    entry: Some(&entry),
                    earlier: earlier.as_ref().map(FoundEarlier::as_call),
                    ..InspectedCall::default()
                };
                Ok(call.to_json())
            }
        }
    }

    fn find_take(&self, key: &str, take: usize) -> Result<Value, CallError> {
        let none = || CallError::NoTake { key: key.to_owned(), take };
        let (found, entry) =
            self.takes.as_ref().and_then(|takes| takes.find_take(key, take)).ok_or_else(none)?;
        let line = line::from_take(None, &found.name, found.number, &entry);
        Ok(InspectedCall { line, entry: Some(&entry), ..InspectedCall::default() }.to_json())
    }

    /// Returns a call of a journal: its line, and what the recording holds of it.
    fn of_journal(&self, number: u64) -> Value {
        let line = self.read_line(number);
        let entry = self.takes.as_ref().and_then(|takes| takes.of_call(&line));
        let nearest = self.takes.as_ref().and_then(|takes| {
            let nearest = line.get("mismatch")?.get("nearest")?;
            let take = usize::try_from(nearest.get("take")?.as_u64()?).ok()?;
            Some(takes.find_take(nearest.get("entry")?.as_str()?, take)?.1)
        });
        let why = match (&entry, &self.takes, line["outcome"].as_str()) {
            (Some(_), _, _) => None,
            (_, None, _) => Some("a journal holds no bodies: give its recording with -r"),
            (_, _, Some("served" | "recorded")) => Some("the recording does not hold this call"),
            _ => Some("a journal holds no bodies, and a recording does not hold such calls"),
        };
        let earlier = self.read_entry(number);
        let earlier = earlier
            .and_then(|entry| find_earlier(number, &entry, |number| self.read_entry(number)));
        let call = InspectedCall {
            seq: Some(number),
            line,
            entry: entry.as_ref(),
            earlier: earlier.as_ref().map(FoundEarlier::as_call),
            nearest: nearest.as_ref(),
            why: why.map(str::to_owned),
        };
        call.to_json()
    }
}

impl InspectedCalls for ShownFile {
    fn line_bounds(&self) -> (u64, u64) {
        (1, self.line_count() as u64)
    }

    fn read_call(&self, seq: u64) -> Option<ReadCall> {
        let (line, entry) = match (&self.journal, &self.takes) {
            (Some(journal), takes) => {
                let line = journal.read_line(seq)?;
                let entry = takes.as_ref().and_then(|takes| takes.of_call(&line));
                (line, entry)
            }
            (None, takes) => {
                let (take, entry) = takes.as_ref()?.read_take(seq).ok()?;
                (line::from_take(Some(seq), &take.name, take.number, &entry), Some(entry))
            }
        };
        Some(ReadCall { line, entry })
    }

    fn identity_rules(&self) -> IdentityRules {
        self.takes.as_ref().map(TakeList::identity_rules).unwrap_or_default()
    }
}

/// Returns the time of a line, in microseconds since 1970.
fn line_time(line: &Value) -> Option<i64> {
    let time = OffsetDateTime::parse(line.get("at")?.as_str()?, &Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos() / 1000).ok()
}
