//! What stands in a journal: calls, faults of connections, and what became of faults.

use std::sync::Arc;

use serde_json::{Value, json};

use super::line::{self, versioned};
use crate::telemetry::call_record::CallRecord;
use loomrec_fault::CallFault;
use loomrec_recording::timestamp::timestamp;

/// Told of what went wrong with the file, once for each cause.
pub type OnJournalError = Box<dyn Fn(&str) + Send>;

/// What became of a fault.
#[derive(Clone, Debug)]
pub struct FaultMark {
    /// When, in microseconds since 1970.
    pub at: i64,
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

impl FaultMark {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let Self { at, fault, what, by, at_ms } = self;
        versioned([
            ("at", json!(timestamp(*at))),
            ("outcome", json!(what)),
            ("fault", json!(fault)),
            ("by", json!(by)),
            ("at_ms", json!(at_ms)),
        ])
    }
}

/// A connection that a fault befell before anything was asked on it.
#[derive(Clone, Debug)]
pub struct ConnectionFault {
    /// When it came, in microseconds since 1970.
    pub at: i64,
    /// Its number, from 1.
    pub connection: u64,
    /// The fault it got.
    pub fault: Arc<CallFault>,
}

impl ConnectionFault {
    /// As JSON.
    pub(super) fn to_json(&self) -> Value {
        let Self { at, connection, fault } = self;
        versioned([
            ("at", json!(timestamp(*at))),
            ("outcome", json!("faulted")),
            ("connection", json!(connection)),
            ("fault", fault.to_json()),
        ])
    }
}

/// What stands in a journal. Nearly all are calls.
#[derive(Clone, Debug)]
pub(super) enum JournalItem {
    Call(Arc<CallRecord>),
    Befallen(Box<ConnectionFault>),
    Mark(Box<FaultMark>),
}

impl JournalItem {
    /// When it was, in microseconds since 1970.
    pub(super) fn at(&self) -> i64 {
        match self {
            Self::Call(seen) => seen.at,
            Self::Befallen(befallen) => befallen.at,
            Self::Mark(mark) => mark.at,
        }
    }

    pub(super) fn to_json(&self, number: u64) -> Value {
        let mut line = match self {
            Self::Call(seen) => return line::read(seen, Some(number)),
            Self::Befallen(befallen) => befallen.to_json(),
            Self::Mark(mark) => mark.to_json(),
        };
        if let Value::Object(fields) = &mut line {
            // Behind the version.
            fields.shift_insert(1, "seq".to_owned(), Value::from(number));
        }
        line
    }
}

/// A line with its number, from 1, in the order in which lines came to be.
#[derive(Clone, Debug)]
pub(super) struct NumberedLine {
    pub(super) number: u64,
    pub(super) item: JournalItem,
    /// The bytes it takes in memory, about.
    pub(super) weight: usize,
}

impl NumberedLine {
    pub(super) fn to_json(&self) -> Value {
        self.item.to_json(self.number)
    }

    /// Writes it as a line of text.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match &self.item {
            JournalItem::Call(seen) => line::write(seen, Some(self.number), out),
            _ => line::printed(out, &self.to_json()),
        }
        out.push(b'\n');
    }
}
