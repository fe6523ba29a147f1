//! What calls ask, in a few words each. A journal holds no text, so the page requests the questions
//! of the calls that it lists, and they are read again from where the requests are kept.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::run::{RunView, find_recorded, is_of_call, name_of_recorded};
use loomrec_curation::inspection::{last_question, line};
use loomrec_engine::CallOutcome;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::Recording;
use loomrec_telemetry::call_record::CallRecord;

/// At most this many calls are named in a query.
const MOST: usize = 100;

/// The numbers of the lines that a query names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineNumbers(Vec<u64>);

impl LineNumbers {
    /// Reads a query: `seq=1,2,3`.
    ///
    /// # Errors
    /// A query that names no line or too many, as a message for people.
    pub fn from_query(query: &str) -> Result<Self, String> {
        let wrong = || format!("say which calls: ?seq=NUMBER,NUMBER… (at most {MOST})");
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        let (_, text) = pairs.find(|(name, _)| name == "seq").ok_or_else(wrong)?;
        let read = |number: &str| number.parse().map_err(|_| wrong());
        let numbers: Vec<u64> = text.split(',').map(read).collect::<Result<_, _>>()?;
        if numbers.len() <= MOST { Ok(Self(numbers)) } else { Err(wrong()) }
    }

    /// Returns the numbers in the order of the query.
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.0
    }
}

/// Returns the questions of these calls. The reading waits for its turn, and runs on a thread that
/// may wait for files.
pub async fn read_questions(
    numbers: LineNumbers,
    turn: &Semaphore,
    read: impl FnOnce(&LineNumbers) -> HashMap<u64, String> + Send + 'static,
) -> Value {
    // The semaphore is never closed, so a permit always comes.
    let _turn = turn.acquire().await;
    let asked = numbers.clone();
    // What cannot be read is not shown: the details of a call say why.
    let found = tokio::task::spawn_blocking(move || read(&asked)).await.unwrap_or_default();
    let of_line = |seq: &u64| json!({ "seq": seq, "asks": found.get(seq) });
    json!({ "v": 1, "questions": numbers.0.iter().map(of_line).collect::<Vec<_>>() })
}

/// Returns the questions of these calls of a run, by their numbers, as far as their requests are
/// still kept. It may wait for files.
pub fn of_run(run: RunView<'_>, numbers: &LineNumbers) -> HashMap<u64, String> {
    let mut questions = HashMap::new();
    let mut recorded: HashMap<EntryName, Vec<(u64, Arc<CallRecord>)>> = HashMap::new();
    for &seq in numbers.as_slice() {
        let Some((_, Some(call))) = run.journal.find_line(seq) else { continue };
        let found = match &call.outcome {
            CallOutcome::Recorded => {
                if let Some(name) = name_of_recorded(&call) {
                    recorded.entry(name).or_default().push((seq, call));
                }
                None
            }
            CallOutcome::Served { .. } => of_served(run, &call),
            CallOutcome::Missed(_) => run.inspector.recent_misses.find(call.at),
            _ => None,
        };
        if let Some(text) = found.as_ref().and_then(short_question) {
            questions.insert(seq, text);
        }
    }
    of_recorded(run, recorded, &mut questions);
    questions
}

/// Returns the take that answered a call.
fn of_served(run: RunView<'_>, call: &CallRecord) -> Option<Entry> {
    run.matcher?.entry_of(call.served_take()?.index)
}

/// Adds the questions of calls that this run recorded. Its recording is opened once for all.
fn of_recorded(
    run: RunView<'_>,
    calls: HashMap<EntryName, Vec<(u64, Arc<CallRecord>)>>,
    questions: &mut HashMap<u64, String>,
) {
    let path = run.inspector.recordings.first().filter(|_| !calls.is_empty());
    let Some(Ok(recording)) = path.map(Recording::open_to_inspect) else { return };
    for (name, mut calls) in calls {
        let found = find_recorded(&recording, &name, |entry| {
            let place = calls.iter().position(|(_, call)| is_of_call(entry, call));
            if let Some(place) = place {
                let (seq, _) = calls.swap_remove(place);
                questions.extend(short_question(entry).map(|text| (seq, text)));
            }
            calls.is_empty()
        });
        // A take that cannot be read has no question.
        drop(found);
    }
}

/// Returns the question of an entry, as long as in the list of a recording.
pub(super) fn short_question(entry: &Entry) -> Option<String> {
    last_question(entry, line::QUESTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_some_lines() {
        assert_eq!(LineNumbers::from_query("seq=3,1").unwrap(), LineNumbers(vec![3, 1]));
        assert_eq!(LineNumbers::from_query("x=1&seq=7").unwrap(), LineNumbers(vec![7]));
        let most = vec!["1"; MOST].join(",");
        assert_eq!(LineNumbers::from_query(&format!("seq={most}")).unwrap().as_slice().len(), MOST);
        for wrong in ["", "seq=", "seq=1,", "seq=-1", "seq=a", &format!("seq={most},1")] {
            let error = LineNumbers::from_query(wrong).unwrap_err();
            assert_eq!(error, "say which calls: ?seq=NUMBER,NUMBER… (at most 100)", "{wrong}");
        }
    }
}
