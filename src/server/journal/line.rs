//! The lines of a journal as JSON; docs/journal.md describes them field by field.
//!
//! The line of a call is written straight from what is known of it: there may be one for
//! each of very many calls a second.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::super::clock::timestamp;
use super::super::seen::{More, Seen};

/// The version of the lines. Fields may be added within one; none changes what it means.
pub const VERSION: u64 = 1;

/// A line of these fields.
pub(super) fn versioned(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut line = Map::new();
    line.insert("v".to_owned(), Value::from(VERSION));
    line.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Value::Object(line)
}

/// The line of a call, by itself.
pub fn of(seen: &Seen) -> Value {
    // Its fields are text, numbers and JSON: there is nothing that could not be written.
    serde_json::to_value(Line::of(seen, None)).unwrap_or_default()
}

/// The line of a call, in the order of its fields.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    v: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    at: String,
    outcome: &'static str,
    status: Option<u16>,
    mode: &'static str,
    source: Option<&'static str>,
    method: &'a str,
    path: &'a str,
    upstream: &'a str,
    provider: &'static str,
    operation: &'static str,
    model: Option<&'a str>,
    streamed: bool,
    session: Option<&'a str>,
    step_id: Option<&'a str>,
    key: Option<&'a str>,
    matched_by: Option<&'static str>,
    entry: Option<&'a str>,
    take: Option<usize>,
    head_ms: f64,
    first_byte_ms: Option<f64>,
    total_ms: f64,
    waited_ms: f64,
    bytes: u64,
    chunks: u64,
    end: &'static str,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
    answered_by: Option<&'a str>,
    kept: Option<bool>,
    attempt: Option<u64>,
    fault: Option<&'a Value>,
    mismatch: Option<&'a Value>,
    more: Option<Also<'a>>,
}

/// What stands in the field `more`.
#[derive(Debug)]
enum Also<'a> {
    Entry(Option<&'a str>),
    Value(&'a Value),
}

impl Serialize for Also<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Entry(entry) => serializer.collect_map([("entry", entry)]),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'a> Line<'a> {
    /// The line of a call, with this number where it has one.
    pub(super) fn of(seen: &'a Seen, seq: Option<u64>) -> Self {
        let facts = &*seen.facts;
        let entry = match &seen.more {
            More::Entry(entry) => entry.as_ref().and_then(|value| value.to_str().ok()),
            _ => None,
        };
        Self {
            v: VERSION,
            seq,
            at: timestamp(seen.at),
            outcome: seen.outcome,
            status: seen.status.map(|status| status.as_u16()),
            mode: seen.mode,
            source: seen.source().word(),
            method: &facts.method,
            path: &facts.path,
            upstream: &facts.upstream,
            provider: facts.provider.name(),
            operation: facts.operation.name(),
            model: facts.model.as_deref(),
            streamed: facts.streamed,
            session: facts.session.as_deref(),
            step_id: facts.step.as_deref(),
            key: facts.key.as_ref().map(|key| key.as_str()),
            matched_by: seen.matched_by,
            entry,
            take: seen.take,
            head_ms: milliseconds(seen.head),
            first_byte_ms: seen.first_byte.map(milliseconds),
            total_ms: milliseconds(seen.total),
            waited_ms: milliseconds(seen.waited),
            bytes: seen.bytes,
            chunks: seen.chunks,
            end: seen.end.word(),
            input_tokens: seen.tokens.map(|tokens| tokens.input),
            output_tokens: seen.tokens.map(|tokens| tokens.output),
            cost_usd: seen.cost_usd,
            answered_by: seen.answered_by.as_deref(),
            kept: seen.kept,
            attempt: seen.attempt(),
            fault: seen.fault.as_deref(),
            mismatch: match &seen.more {
                More::Mismatch(mismatch) => Some(mismatch),
                _ => None,
            },
            more: match &seen.more {
                More::Nothing | More::Mismatch(_) => None,
                More::Entry(_) => Some(Also::Entry(entry)),
                More::Value(value) => Some(Also::Value(value)),
            },
        }
    }
}

/// With one digit behind the point.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}
