//! The inspector's view of a run: its calls, from its journal and its recordings, and the requests
//! that it keeps of missed calls.

use std::cell::OnceCell;
use std::path::Path;

use serde_json::Value;

use super::earlier::{FoundEarlier, find_earlier};
use super::inspected_calls::{InspectedCalls, ReadCall};
use super::{CallError, CallSelector, InspectedSubject, Inspector};
use loomrec_curation::inspection::{InspectedCall, line};
use loomrec_engine::CallOutcome;
use loomrec_engine::replay::Matcher;
use loomrec_identity::IdentityRules;
use loomrec_recording::timestamp::format_timestamp;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{Recording, StoreError};
use loomrec_telemetry::call_record::CallRecord;
use loomrec_telemetry::journal::Journal;

/// How many takes of one name are searched for an exchange that was just recorded.
const LOOKED_THROUGH: usize = 2000;

/// The part of a run that the inspector shows.
#[derive(Clone, Copy)]
pub struct RunView<'a> {
    /// The mode of the run, in one word.
    pub mode: &'static str,
    /// The calls of the run.
    pub journal: &'a Journal,
    /// Whether callers have to send a token.
    pub token_needed: bool,
    /// The takes that it replays, if it replays.
    pub matcher: Option<&'a Matcher>,
    /// Whether it records.
    pub records: bool,
    /// The state that it keeps for the inspector.
    pub inspector: &'a Inspector,
}

/// Describes what is shown.
pub fn describe_subject(run: RunView<'_>) -> Value {
    let files = run.inspector.recordings.iter();
    InspectedSubject {
        kind: "run",
        mode: Some(run.mode),
        files: files.map(|path| path.display().to_string()).collect(),
        live: !run.journal.is_over(),
        token_needed: run.token_needed,
        calls: Some(run.journal.line_count()),
        in_force: run.inspector.in_force.as_deref(),
    }
    .to_json()
}

/// Returns everything about one call. It may wait for files.
///
/// # Errors
/// A call of which nothing can be shown.
pub fn find_call(run: RunView<'_>, which: &CallSelector) -> Result<Value, CallError> {
    match which {
        CallSelector::Line(seq) => of_line(run, *seq),
        CallSelector::Take { key, take } => {
            let none = || CallError::NoTake { key: key.clone(), take: *take };
            let (name, entry) = take_of(run, key, *take)?.ok_or_else(none)?;
            let line = line::from_take(None, &name, *take, &entry);
            Ok(InspectedCall { line, entry: Some(&entry), ..InspectedCall::default() }.to_json())
        }
    }
}

/// Returns the call of a line that is still in memory.
fn of_line(run: RunView<'_>, seq: u64) -> Result<Value, CallError> {
    let (line, seen) = run.journal.find_line(seq).ok_or(CallError::NoLine(seq))?;
    let mut parts = CallParts::default();
    match &seen {
        Some(seen) => parts.fill_from_record(run, seen, &line),
        None => parts.why = Some("this line does not describe a call".to_owned()),
    }
    let earlier = continued_call(run, seq, &line, &parts);
    let CallParts { entry, nearest, why } = &parts;
    let call = InspectedCall {
        seq: Some(seq),
        line,
        entry: entry.as_ref(),
        nearest: nearest.as_ref(),
        earlier: earlier.as_ref().map(FoundEarlier::as_call),
        why: why.clone(),
    };
    Ok(call.to_json())
}

/// Returns the call of the run that this call continues.
fn continued_call(
    run: RunView<'_>,
    seq: u64,
    line: &Value,
    parts: &CallParts,
) -> Option<FoundEarlier> {
    let (line, entry) = (line.clone(), parts.entry.clone());
    let call = ReadCall { line, entry }.into_entry()?;
    let calls = RunCalls::from_run(run);
    find_earlier(seq, &call, |number| calls.read_call(number)?.into_entry())
}

/// The calls of a run that are in memory. Its recording is opened once for all that are read.
pub struct RunCalls<'a> {
    run: RunView<'a>,
    recording: OnceCell<Option<Recording>>,
}

impl<'a> RunCalls<'a> {
    /// The calls of this run.
    pub fn from_run(run: RunView<'a>) -> Self {
        Self { run, recording: OnceCell::new() }
    }

    fn open_recording(&self) -> Option<&Recording> {
        let open = || Recording::open_to_inspect(self.run.inspector.recordings.first()?).ok();
        self.recording.get_or_init(open).as_ref()
    }
}

impl InspectedCalls for RunCalls<'_> {
    fn line_bounds(&self) -> (u64, u64) {
        self.run.journal.line_bounds()
    }

    fn read_call(&self, seq: u64) -> Option<ReadCall> {
        let run = self.run;
        let (line, seen) = run.journal.find_line(seq)?;
        let seen = seen?;
        let mut entry = None;
        match &seen.outcome {
            CallOutcome::Served { .. } => {
                entry = run.matcher.and_then(|matcher| matcher.entry_of(seen.served_take()?.index));
            }
            CallOutcome::Recorded => {
                let check = |entry: &Entry| is_of_call(entry, &seen);
                let name = name_of_recorded(&seen);
                entry = name
                    .and_then(|name| find_recorded(self.open_recording()?, &name, check).ok()?);
            }
            CallOutcome::Missed(_) => entry = run.inspector.recent_misses.find(seen.at),
            _ => {}
        }
        Some(ReadCall { line, entry })
    }

    fn identity_rules(&self) -> IdentityRules {
        let of_file = || self.open_recording().map(|recording| recording.meta().rules().clone());
        match self.run.matcher.map(Matcher::identity_rules) {
            Some([first, others @ ..]) => {
                others.iter().fold(first.clone(), |all, rules| all.united_with(rules))
            }
            _ => of_file().unwrap_or_default(),
        }
    }
}

/// What was found of a call.
#[derive(Default)]
struct CallParts {
    /// The take that answered it, or that was recorded from it; or its request, without an answer.
    entry: Option<Entry>,
    nearest: Option<Entry>,
    why: Option<String>,
}

impl CallParts {
    fn fill_from_record(&mut self, run: RunView<'_>, seen: &CallRecord, line: &Value) {
        let matcher = run.matcher;
        let why = match (&seen.outcome, matcher) {
            (CallOutcome::Served { .. }, Some(matcher)) => {
                self.entry = seen.served_take().and_then(|take| matcher.entry_of(take.index));
                "the recording was changed since it was loaded, and cannot be read any more"
            }
            (CallOutcome::Recorded, _) => {
                match recorded_entry(run, seen) {
                    Ok(entry) => self.entry = entry,
                    Err(error) => self.why = Some(format!("failed to {}", error.error_chain())),
                }
                match seen.is_kept() {
                    Some(true) => "the recording does not hold this exchange any more",
                    Some(false) => "this exchange could not be kept in the recording",
                    None => "this exchange was not complete when its client left",
                }
            }
            (CallOutcome::Missed(_), Some(matcher)) => {
                self.nearest = nearest_entry(matcher, line);
                self.entry = run.inspector.recent_misses.find(seen.at);
                match self.entry {
                    Some(_) => "a missed call has no recorded answer; its client got the mismatch",
                    None => "the requests of the last 256 missed calls are kept, 16 MiB of them",
                }
            }
            (outcome, _) => why_none(outcome),
        };
        let is_unanswered = self.entry.is_none() || matches!(seen.outcome, CallOutcome::Missed(_));
        if is_unanswered && self.why.is_none() {
            self.why = Some(why.to_owned());
        }
    }
}

/// Returns why nothing is kept of calls with such an outcome.
fn why_none(outcome: &CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Forwarded => "forwarded calls are not kept",
        CallOutcome::Scripted { .. } | CallOutcome::Unscripted { .. } => {
            "calls that a script answers are not kept"
        }
        CallOutcome::Prescribed { .. } => {
            "it got the answer that the protocol prescribes, and is not kept"
        }
        CallOutcome::Placeholder => "it was answered with the placeholder, and is not kept",
        CallOutcome::Faulted => "a fault replaced the answer; nothing is kept of the call",
        CallOutcome::Unreachable { .. } => "no upstream answered; nothing is kept of the call",
        CallOutcome::Refused { .. } => "the request was refused",
        CallOutcome::UpgradeRefused => "the request for a WebSocket was refused",
        CallOutcome::Unanswered => "loomrec never answered it; nothing is kept of the call",
        CallOutcome::Left => {
            "its client left before there was an answer; nothing is kept of the call"
        }
        CallOutcome::Served { .. } | CallOutcome::Recorded | CallOutcome::Missed(_) => {
            "nothing is kept of the call"
        }
    }
}

/// Returns the entry that was recorded from a call of this run, read from its recording.
fn recorded_entry(run: RunView<'_>, seen: &CallRecord) -> Result<Option<Entry>, StoreError> {
    let (Some(path), Some(name)) = (run.inspector.recordings.first(), name_of_recorded(seen))
    else {
        return Ok(None);
    };
    let recording = Recording::open_to_inspect(path)?;
    find_recorded(&recording, &name, |entry| is_of_call(entry, seen))
}

/// Returns the name of the entry that holds a call of this run, if the call was kept.
pub(super) fn name_of_recorded(seen: &CallRecord) -> Option<EntryName> {
    if seen.is_kept() != Some(true) {
        return None;
    }
    match (seen.facts.step.as_deref().map(EntryName::from_step_id), &seen.facts.key) {
        (Some(Ok(step)), _) => Some(step),
        (None, Some(key)) => Some(EntryName::Hash(key.clone())),
        _ => None,
    }
}

/// Whether an entry was recorded from this call.
pub(super) fn is_of_call(entry: &Entry, seen: &CallRecord) -> bool {
    let arrived = format_timestamp(seen.at);
    // Recorders of one run that share a microsecond are distinguished by further digits.
    let arrived = arrived.trim_end_matches('Z');
    entry.recorded_at.as_deref().is_some_and(|at| at.starts_with(arrived))
}

/// Returns the newest take of a name that passes a check. Only the newest 2000 are read.
pub(super) fn find_recorded(
    recording: &Recording,
    name: &EntryName,
    mut check: impl FnMut(&Entry) -> bool,
) -> Result<Option<Entry>, StoreError> {
    for place in recording.take_places(name)?.iter().rev().take(LOOKED_THROUGH) {
        let entry = recording.read_entry(place)?;
        if check(&entry) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns the nearest take of a missed call.
fn nearest_entry(matcher: &Matcher, line: &Value) -> Option<Entry> {
    let nearest = line.get("mismatch")?.get("nearest")?;
    let text = |name: &str| nearest.get(name)?.as_str();
    let take = usize::try_from(nearest.get("take")?.as_u64()?).ok()?;
    matcher.entry_named(text("recording"), text("entry")?, take)
}

/// Returns a take by its name, from the recordings of the run.
fn take_of(
    run: RunView<'_>,
    key: &str,
    take: usize,
) -> Result<Option<(EntryName, Entry)>, CallError> {
    let matcher = run.matcher;
    let name = EntryName::of_key(key).0;
    if let Some(entry) = matcher.and_then(|matcher| matcher.entry_named(None, key, take)) {
        return Ok(Some((name, entry)));
    }
    let Some(path) = run.inspector.recordings.first().filter(|_| run.records) else {
        return Ok(None);
    };
    match in_file(path, &name, take) {
        Ok(entry) => Ok(entry.map(|entry| (name, entry))),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(CallError::Unread(error.error_chain().to_string())),
    }
}

/// Returns a take by its name, from a recording and its sidecar files.
fn in_file(path: &Path, name: &EntryName, take: usize) -> Result<Option<Entry>, StoreError> {
    let recording = Recording::open_to_inspect(path)?;
    let places = recording.take_places(name)?;
    let place = take.checked_sub(1).and_then(|at| places.get(at));
    place.map(|place| recording.read_entry(place)).transpose()
}
