//! The faults in a journal: which call each happened to, when the program noticed it, and when the
//! call got a good answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use loomrec_cli::exit::CommandFailure;
use loomrec_cli::journal_lines::{JournalRead, JournalReader};
use loomrec_fault::recovery::score::to_milliseconds;
use loomrec_fault::recovery::{FaultTimeline, RecoveryMeans};

/// One fault that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Incident {
    /// The number of the fault in the run.
    pub(crate) id: u64,
    /// The type of the fault.
    pub(crate) kind: String,
    /// The rule that declared it.
    pub(crate) rule: Option<String>,
    /// Where it was declared.
    pub(crate) source: Option<String>,
    /// The key of its call.
    pub(crate) key: Option<String>,
    /// The step id of its call.
    pub(crate) step: Option<String>,
    /// The session of its call.
    pub(crate) session: Option<String>,
    /// The number of the call under its key.
    pub(crate) call: Option<u64>,
    /// The attempt number of the call.
    pub(crate) attempt: Option<u64>,
    /// How the program noticed the fault.
    pub(crate) by: Option<String>,
    /// By what means the program recovered from it. `None` if that is not known.
    pub(crate) means: Option<RecoveryMeans>,
    /// The times of the fault.
    pub(crate) marks: FaultTimeline,
}

impl Incident {
    /// Describes the call, for people.
    pub(super) fn call_words(&self) -> String {
        let key = self.key.as_deref().map(|key| key.get(..12).unwrap_or(key));
        let mut words = self.step.as_deref().or(key).unwrap_or("-").to_owned();
        if let Some(call) = self.call.filter(|call| *call > 1) {
            words.push_str(&format!(" #{call}"));
        }
        words
    }

    /// Describes the fault and its call, for people.
    pub(super) fn fault_description(&self) -> String {
        let mut words = format!("fault {}, {}", self.id, self.kind);
        if let Some(rule) = &self.rule {
            words.push_str(&format!(", {rule:?}"));
        }
        if self.step.is_some() || self.key.is_some() {
            words.push_str(&format!(", at {}", self.call_words()));
        }
        words
    }

    /// Returns the JSON for programs.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let fields = [
            ("id", json!(self.id)),
            ("type", json!(self.kind)),
            ("rule", json!(self.rule)),
            ("source", json!(self.source)),
            ("key", json!(self.key)),
            ("step_id", json!(self.step)),
            ("session", json!(self.session)),
            ("call", json!(self.call)),
            ("attempt", json!(self.attempt)),
            ("fired_ms", json!(to_milliseconds(self.marks.start))),
            ("noticed_by", json!(self.by)),
            ("recovered_by", json!(self.means.map(RecoveryMeans::as_str))),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The reader of a journal's lines.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    faults: BTreeMap<u64, Incident>,
    /// Times by fault. A mark may come before the line of the call it belongs to.
    fired: BTreeMap<u64, Duration>,
    noticed: BTreeMap<u64, Vec<(Duration, Option<String>)>>,
    recovered: BTreeMap<u64, Vec<(Duration, Option<RecoveryMeans>)>>,
    /// Faults that only delay, whose clients did not wait.
    given_up: BTreeSet<u64>,
    cut: bool,
}

impl Reading {
    /// Adds a line.
    ///
    /// # Errors
    /// Says why it is not a line of a journal.
    pub(crate) fn add_line(&mut self, line: &Value) -> Result<(), String> {
        let Value::Object(line) = line else { return Err("it is not an object".to_owned()) };
        let outcome = line.get("outcome").and_then(Value::as_str);
        let outcome = outcome.ok_or_else(|| "it has no outcome".to_owned())?;
        match (outcome, line.get("fault")) {
            (_, None | Some(Value::Null)) => Ok(()),
            ("fired", Some(fault)) => {
                let (id, at) = (fault_number(fault)?, time_member(line, "at_ms")?);
                match self.fired.insert(id, at) {
                    None => Ok(()),
                    Some(_) => Err(repeated_fault(id)),
                }
            }
            ("noticed", Some(fault)) => {
                let by = text_member(line, "by");
                self.noticed
                    .entry(fault_number(fault)?)
                    .or_default()
                    .push((time_member(line, "at_ms")?, by));
                Ok(())
            }
            ("recovered", Some(fault)) => {
                let means =
                    text_member(line, "by").and_then(|word| RecoveryMeans::from_word(&word));
                let mark = (time_member(line, "at_ms")?, means);
                self.recovered.entry(fault_number(fault)?).or_default().push(mark);
                Ok(())
            }
            ("given_up", Some(fault)) => {
                self.given_up.insert(fault_number(fault)?);
                Ok(())
            }
            (_, Some(Value::Object(fault))) => self.add_fault(fault),
            (_, Some(_)) => Err("its fault is not an object".to_owned()),
        }
    }

    fn add_fault(&mut self, fault: &Map<String, Value>) -> Result<(), String> {
        let id = fault_number(fault.get("id").unwrap_or(&Value::Null))?;
        let only_delays = fault.get("only_delays").and_then(Value::as_bool).unwrap_or(false);
        let marks = FaultTimeline { only_delays, ..FaultTimeline::default() };
        let count = |name: &str| fault.get(name).and_then(Value::as_u64);
        let incident = Incident {
            id,
            kind: text_member(fault, "type").ok_or_else(|| "its fault has no type".to_owned())?,
            rule: text_member(fault, "rule"),
            source: text_member(fault, "source"),
            key: text_member(fault, "key"),
            step: text_member(fault, "step_id"),
            session: text_member(fault, "session"),
            call: count("call"),
            attempt: count("attempt"),
            by: None,
            means: None,
            marks,
        };
        match self.faults.insert(id, incident) {
            None => Ok(()),
            Some(_) => Err(repeated_fault(id)),
        }
    }

    /// Whether the last line is incomplete.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Combines all lines.
    pub(crate) fn finish(self) -> JournalFaults {
        let Self { faults, mut fired, mut noticed, mut recovered, given_up, .. } = self;
        let mut found = JournalFaults::default();
        for (id, mut fault) in faults {
            let noticed = noticed.remove(&id).unwrap_or_default();
            let recovered = recovered.remove(&id).unwrap_or_default();
            let Some(start) = fired.remove(&id) else {
                found.unfired += 1;
                continue;
            };
            // The first mark counts. One from before the fault counts only if there is no other.
            let noticed = noticed.into_iter().min_by_key(|(at, _)| (*at < start, *at));
            let (detected, by) = noticed.unzip();
            fault.by = by.flatten();
            let recovered = recovered.into_iter().min_by_key(|(at, _)| (*at < start, *at));
            let (recovered, means) = recovered.unzip();
            fault.means = means.flatten();
            // A client that gave up did not get the delayed answer, so the fault did more than
            // delay.
            let only_delays = fault.marks.only_delays && !given_up.contains(&id);
            fault.marks =
                FaultTimeline { start, detected, recovered, timeout_budget: None, only_delays };
            found.incidents.push(fault);
        }
        let marks = noticed.values().map(Vec::len).chain(recovered.values().map(Vec::len));
        found.strays = fired.len() + marks.sum::<usize>();
        found
    }
}

/// The faults of a journal.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JournalFaults {
    /// The faults that happened, by number.
    pub(crate) incidents: Vec<Incident>,
    /// How many faults were decided for a call but did not happen.
    pub(crate) unfired: usize,
    /// How many marks belong to no call.
    pub(crate) strays: usize,
}

fn repeated_fault(id: u64) -> String {
    format!("fault {id} struck before: these are two journals in one")
}

/// Reads a journal.
///
/// # Errors
/// A file that cannot be read, or is not a journal, with the line and the reason.
pub(super) fn read(path: &Path) -> Result<Reading, CommandFailure> {
    let (mut reader, mut reading) = (JournalReader::open(path)?, Reading::default());
    loop {
        match reader.read()? {
            JournalRead::Line => {}
            // A run that was killed may have left half a line.
            JournalRead::Cut => {
                reading.cut = true;
                continue;
            }
            JournalRead::End => return Ok(reading),
        }
        let added = match serde_json::from_slice::<Value>(reader.last_line()) {
            Ok(value) => reading.add_line(&value),
            Err(_) => Err("it is not JSON".to_owned()),
        };
        added.map_err(|why| reader.no_line(&why))?;
    }
}

fn text_member(object: &Map<String, Value>, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the number of a fault.
fn fault_number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| "its fault has no number".to_owned())
}

/// Returns a time since the beginning of the run.
fn time_member(object: &Map<String, Value>, name: &str) -> Result<Duration, String> {
    let ms = object.get(name).and_then(Value::as_f64);
    ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok())
        .ok_or_else(|| format!("{name} is not a time in milliseconds"))
}
