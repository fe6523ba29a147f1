//! The journal: one line for each call, in memory for the control endpoint and,
//! if asked for, in a file of JSON lines. A thread does the writing.
//!
//! A line is kept as what it is made of, and written out when somebody reads it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::clock::timestamp;
use crate::provider::Operation;
use crate::recording::observed::Observed;

/// Lines kept in memory.
const KEPT: usize = 1000;

/// What a line says of the request: nothing that may not be stored.
#[derive(Debug)]
pub struct Facts {
    method: String,
    path: String,
    upstream: String,
    operation: Operation,
    model: Option<String>,
    streamed: bool,
    step: Option<String>,
    session: Option<String>,
}

impl Facts {
    /// Those of a request.
    pub fn of(observed: &Observed) -> Self {
        Self {
            method: observed.request.method.clone(),
            path: observed.request.path.clone(),
            upstream: observed.upstream.clone(),
            operation: observed.call.operation,
            model: observed.call.model.clone(),
            streamed: observed.call.streamed,
            step: observed.step.clone(),
            session: observed.session.clone(),
        }
    }
}

/// What else there is to say of a call.
#[derive(Clone, Debug)]
pub enum More {
    /// Nothing.
    Nothing,
    /// The entry it was answered from.
    Entry(Option<HeaderValue>),
    /// Anything else.
    Value(Value),
}

/// One call.
#[derive(Clone, Debug)]
pub struct Line {
    /// When it arrived, in microseconds since 1970.
    pub at: i64,
    /// What became of it, in a word.
    pub outcome: &'static str,
    /// The status it was answered with, where it was answered.
    pub status: Option<StatusCode>,
    /// From its arrival to its answer's head.
    pub head: Duration,
    /// The request.
    pub facts: Arc<Facts>,
    /// The fault it got.
    pub fault: Option<Arc<Value>>,
    /// Anything else.
    pub more: More,
}

/// What became of a fault.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its number.
    pub fault: u64,
    /// `fired`, `noticed` by its client, `recovered` from; `given_up`, where its client did
    /// not wait for an answer that was only late.
    pub what: &'static str,
    /// By what it was noticed: the client came `again`, or `left`.
    pub by: Option<&'static str>,
    /// When, in milliseconds since the run began.
    pub at_ms: f64,
}

impl Mark {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let Self { fault, what, by, at_ms } = self;
        json!({ "outcome": what, "fault": fault, "by": by, "at_ms": at_ms })
    }
}

/// A connection that a fault befell before anything was asked on it.
#[derive(Clone, Debug)]
pub struct Befallen {
    /// When it came, in microseconds since 1970.
    pub at: i64,
    /// Its number, from 1.
    pub connection: u64,
    /// The fault it got.
    pub fault: Arc<Value>,
}

/// What stands in a journal.
#[derive(Clone, Debug)]
enum Item {
    Call(Line),
    Befallen(Befallen),
    Mark(Mark),
}

impl Item {
    fn to_json(&self) -> Value {
        match self {
            Self::Call(line) => line.to_json(),
            Self::Befallen(Befallen { at, connection, fault }) => json!({
                "at": timestamp(*at),
                "outcome": "faulted",
                "connection": connection,
                "fault": **fault,
            }),
            Self::Mark(mark) => mark.to_json(),
        }
    }
}

impl Line {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let facts = &*self.facts;
        let more = match &self.more {
            More::Nothing => Value::Null,
            More::Entry(entry) => {
                json!({ "entry": entry.as_ref().and_then(|value| value.to_str().ok()) })
            }
            More::Value(value) => value.clone(),
        };
        json!({
            "at": timestamp(self.at),
            "outcome": self.outcome,
            "status": self.status.map(|status| status.as_u16()),
            "method": facts.method,
            "path": facts.path,
            "upstream": facts.upstream,
            "operation": facts.operation.name(),
            "model": facts.model,
            "streamed": facts.streamed,
            "step_id": facts.step,
            "session": facts.session,
            "head_ms": (self.head.as_secs_f64() * 10_000.0).round() / 10.0,
            "fault": self.fault.as_deref(),
            "more": more,
        })
    }
}

/// A line and its number.
type Numbered = (u64, Item);

/// Where lines go.
#[derive(Debug)]
pub struct Journal {
    /// The latest lines with their numbers, each at its number's place, so that
    /// calls which are answered at once do not wait for each other.
    recent: Box<[Mutex<Option<Numbered>>]>,
    next: AtomicU64,
    /// Absent where no file is written, and once it is closed.
    file: Option<Mutex<Option<Writer>>>,
}

/// The thread that writes, and the way to it.
type Writer = (Sender<Item>, JoinHandle<std::io::Result<()>>);

impl Journal {
    /// A journal in memory, and in `file` where one is given.
    pub fn new(file: Option<File>) -> Self {
        let file = file.map(|file| {
            let (sender, receiver) = channel();
            Mutex::new(Some((sender, std::thread::spawn(move || write(file, &receiver)))))
        });
        let recent = (0..KEPT).map(|_| Mutex::default()).collect();
        Self { recent, next: AtomicU64::new(0), file }
    }

    /// Adds the line of a call.
    pub fn add(&self, line: Line) {
        self.keep(Item::Call(line));
    }

    /// Adds the line of a connection that asked for nothing.
    pub fn add_befallen(&self, befallen: Befallen) {
        self.keep(Item::Befallen(befallen));
    }

    /// Adds what became of a fault.
    pub fn mark(&self, mark: Mark) {
        self.keep(Item::Mark(mark));
    }

    fn keep(&self, item: Item) {
        if let Some(file) = &self.file {
            let file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((sender, _)) = file.as_ref() {
                // A writer that has failed says so when the journal is closed.
                drop(sender.send(item.clone()));
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let place = &self.recent[number as usize % KEPT];
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        // A line that was held up must not take the place of a later one.
        if place.as_ref().is_none_or(|(other, _)| *other < number) {
            *place = Some((number, item));
        }
    }

    /// The latest lines, oldest first.
    pub fn recent(&self) -> Vec<Value> {
        let lines = self
            .recent
            .iter()
            .filter_map(|place| place.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let mut lines: Vec<Numbered> = lines.collect();
        lines.sort_unstable_by_key(|(number, _)| *number);
        lines.iter().map(|(_, line)| line.to_json()).collect()
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// When lines could not be written.
    pub fn close(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let writer = file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((sender, thread)) = writer else { return Ok(()) };
        drop(sender);
        thread.join().unwrap_or(Ok(()))
    }
}

/// The thread: writes lines as they come, flushing whenever none is waiting.
fn write(file: File, lines: &Receiver<Item>) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    while let Ok(line) = lines.recv() {
        writeln!(out, "{}", line.to_json())?;
        while let Ok(line) = lines.try_recv() {
            writeln!(out, "{}", line.to_json())?;
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: i64) -> Line {
        let facts = Facts {
            method: "POST".to_owned(),
            path: "/v1/x".to_owned(),
            upstream: "openai".to_owned(),
            operation: Operation::Other,
            model: None,
            streamed: false,
            step: None,
            session: None,
        };
        Line {
            at,
            outcome: "served",
            status: Some(StatusCode::OK),
            fault: None,
            head: Duration::from_micros(1260),
            facts: Arc::new(facts),
            more: More::Entry(Some(HeaderValue::from_static("step-1"))),
        }
    }

    #[test]
    fn latest_lines_come_oldest_first_when_more_were_added_than_are_kept() {
        let journal = Journal::new(None);
        (0..KEPT as i64 + 5).for_each(|at| journal.add(line(at)));
        let lines = journal.recent();
        assert_eq!(lines.len(), KEPT);
        assert_eq!(lines[0]["at"], timestamp(5));
        assert_eq!(lines[KEPT - 1]["at"], timestamp(KEPT as i64 + 4));
        assert_eq!(
            (&lines[0]["head_ms"], &lines[0]["more"]["entry"]),
            (&json!(1.3), &json!("step-1"))
        );
    }

    #[test]
    fn file_holds_every_line_once_the_journal_is_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let journal = Journal::new(Some(file.reopen().unwrap()));
        (0..3).for_each(|at| journal.add(line(at)));
        journal.close().unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let expected: String = (0..3).map(|at| format!("{}\n", line(at).to_json())).collect();
        assert_eq!(text, expected);
    }
}
