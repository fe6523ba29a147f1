//! The records of a journal: calls, faults of connections, and the later stages of faults.

use std::sync::Arc;

use serde_json::{Value, json};

use super::line::{self, versioned_line};
use crate::call_record::CallRecord;
use loomrec_fault::CallFault;
use loomrec_recording::timestamp::format_timestamp;

/// Callback for errors of the journal's file, called once for each cause.
pub type OnJournalError = Box<dyn Fn(&str) + Send>;

/// A stage that a fault has reached.
#[derive(Clone, Debug)]
pub struct FaultMark {
    /// The time, in microseconds since 1970.
    pub at: i64,
    /// The number of the fault.
    pub fault: u64,
    /// `fired`, `noticed` by its client, `recovered` from, or `given_up` if its client did not wait
    /// for an answer that was only delayed.
    pub what: &'static str,
    /// How the client noticed it, or by what means the program recovered.
    pub by: Option<&'static str>,
    /// The time, in milliseconds since the run began.
    pub at_ms: f64,
}

impl FaultMark {
    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let Self { at, fault, what, by, at_ms } = self;
        versioned_line([
            ("at", json!(format_timestamp(*at))),
            ("outcome", json!(what)),
            ("fault", json!(fault)),
            ("by", json!(by)),
            ("at_ms", json!(at_ms)),
        ])
    }
}

/// A fault that applied to a connection before any request on it was read.
#[derive(Clone, Debug)]
pub struct ConnectionFault {
    /// The time of the connection, in microseconds since 1970.
    pub at: i64,
    /// The number of the connection, from 1.
    pub connection: u64,
    /// The fault.
    pub fault: Arc<CallFault>,
}

impl ConnectionFault {
    /// Returns it as JSON.
    pub(super) fn to_json(&self) -> Value {
        let Self { at, connection, fault } = self;
        versioned_line([
            ("at", json!(format_timestamp(*at))),
            ("outcome", json!("faulted")),
            ("connection", json!(connection)),
            ("fault", fault.to_json()),
        ])
    }
}

/// A record of the journal. Nearly all are calls.
#[derive(Clone, Debug)]
pub(super) enum JournalItem {
    Call(Arc<CallRecord>),
    ConnectionFault(Box<ConnectionFault>),
    Mark(Box<FaultMark>),
}

impl JournalItem {
    /// Returns the time of the record, in microseconds since 1970.
    pub(super) fn recorded_at(&self) -> i64 {
        match self {
            Self::Call(seen) => seen.at,
            Self::ConnectionFault(fault) => fault.at,
            Self::Mark(mark) => mark.at,
        }
    }

    pub(super) fn to_json(&self, number: u64) -> Value {
        let mut line = match self {
            Self::Call(seen) => return line::from_numbered_call(seen, Some(number)),
            Self::ConnectionFault(fault) => fault.to_json(),
            Self::Mark(mark) => mark.to_json(),
        };
        if let Value::Object(fields) = &mut line {
            // After the version.
            fields.shift_insert(1, "seq".to_owned(), Value::from(number));
        }
        line
    }
}

/// A line with its number, from 1, in the order in which lines were added.
#[derive(Clone, Debug)]
pub(super) struct NumberedLine {
    pub(super) number: u64,
    pub(super) item: JournalItem,
    /// About how many bytes it takes in memory.
    pub(super) weight: usize,
}

impl NumberedLine {
    pub(super) fn to_json(&self) -> Value {
        self.item.to_json(self.number)
    }

    /// Writes it as a line of text.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match &self.item {
            JournalItem::Call(seen) => line::write_call(seen, Some(self.number), out),
            _ => line::write_printable(out, &self.to_json()),
        }
        out.push(b'\n');
    }
}
