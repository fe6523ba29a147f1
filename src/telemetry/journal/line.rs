//! The lines of a journal as JSON. docs/journal.md describes them field by field.
//!
//! The line of a call is written directly from its record, without a serializer: there may be a
//! very large number of calls a second, and a serializer would check every letter of every name
//! again.

use std::ops::Range;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::call_record::CallRecord;
use loomrec_engine::CallOutcome;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_fault::CallFault;
use loomrec_identity::printable;
use loomrec_provider::AnswerOutcome;
use loomrec_recording::timestamp::timestamp_bytes;
use loomrec_script::ScriptTurn;

/// The version of the lines. Fields may be added within a version, but the meaning of a field never
/// changes.
pub const VERSION: u64 = 1;

/// Returns a line of these fields.
pub(super) fn versioned_line(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut line = Map::new();
    line.insert("v".to_owned(), Value::from(VERSION));
    line.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Value::Object(line)
}

/// Returns the line of a call, without a number.
pub fn from_call(seen: &CallRecord) -> Value {
    from_numbered_call(seen, None)
}

/// Returns the line of a call as JSON, with this number if it has one.
pub(super) fn from_numbered_call(seen: &CallRecord, seq: Option<u64>) -> Value {
    let mut text = Vec::new();
    write_call(seen, seq, &mut text);
    // A test checks that what is written is valid JSON.
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Writes a line which says that this many lines, up to this number, are no longer available.
pub(super) fn write_skipped(out: &mut Vec<u8>, lines: u64, seq: u64) {
    if lines > 0 {
        let line = versioned_line([
            ("seq", json!(seq)),
            ("outcome", json!("skipped")),
            ("lines", json!(lines)),
        ]);
        write_printable(out, &line);
        out.push(b'\n');
    }
}

/// Writes fields, each with the writer of its type, after other fields. A missing value is null.
macro_rules! fields {
    ($out:ident, $($name:literal: $kind:ident($value:expr),)+) => {
        $(
            match $value {
                None => $out.extend_from_slice(concat!(",\"", $name, "\":null").as_bytes()),
                Some(value) => {
                    $out.extend_from_slice(concat!(",\"", $name, "\":").as_bytes());
                    $kind($out, value);
                }
            }
        )+
    };
}

/// Writes the line of a call, with this number if it has one, without a line end.
pub(super) fn write_call(seen: &CallRecord, seq: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"v":"#);
    number(out, VERSION);
    if seq.is_some() {
        fields! { out, "seq": number(seq), }
    }
    let entry = write_common_fields(seen, out);
    match outcome_detail(&seen.outcome) {
        Some(OutcomeDetail::Entry) => {
            out.extend_from_slice(b",\"more\":{\"entry\":");
            out.extend_from_within(entry);
            out.extend_from_slice(b"}}");
        }
        Some(OutcomeDetail::Object(detail)) => {
            fields! { out, "more": value(Some(&detail)), }
            out.push(b'}');
        }
        None => out.extend_from_slice(b",\"more\":null}"),
    }
}

/// The value of `more` in a line.
enum OutcomeDetail {
    /// The name of the entry.
    Entry,
    /// This object.
    Object(Value),
}

fn outcome_detail(outcome: &CallOutcome) -> Option<OutcomeDetail> {
    Some(match outcome {
        CallOutcome::Served { .. } => OutcomeDetail::Entry,
        CallOutcome::Scripted { turn: Some(ScriptTurn::Rule(claim)) } => {
            OutcomeDetail::Object(json!({ "script": { "rule": claim.name() } }))
        }
        CallOutcome::Scripted { turn: Some(ScriptTurn::Call(call)) } => {
            OutcomeDetail::Object(json!({ "script": { "call": call } }))
        }
        CallOutcome::Scripted { turn: None } => {
            OutcomeDetail::Object(json!({ "script": { "call": null } }))
        }
        CallOutcome::Unscripted { message } => OutcomeDetail::Object(json!({ "error": message })),
        CallOutcome::Unreachable { message } | CallOutcome::Refused { kind: None, message } => {
            OutcomeDetail::Object(json!({ "message": message }))
        }
        CallOutcome::Refused { kind, message } => {
            OutcomeDetail::Object(json!({ "error": kind, "message": message }))
        }
        _ => return None,
    })
}

/// Writes the fields that every call has. Returns the range of the entry's name in the output.
fn write_common_fields(seen: &CallRecord, out: &mut Vec<u8>) -> Range<usize> {
    let facts = &*seen.facts;
    fields! { out,
        "at": moment(Some(seen.at)),
        "outcome": word(Some(seen.outcome.as_str())),
        "status": number(seen.status.map(|status| status.as_u16().into())),
        "mode": word(Some(seen.mode)),
        "source": word(seen.answer_source().as_str()),
        "method": text(Some(&*facts.method)),
        "path": text(Some(&*facts.path)),
        "upstream": text(Some(&*facts.upstream).filter(|name| !name.is_empty())),
        "provider": word(Some(facts.provider.name())),
        "operation": word(facts.operation.known_name()),
        "rpc": text(facts.rpc.as_deref()),
        "model": text(facts.model.as_deref()),
        "streamed": flag(Some(facts.streamed)),
        "session": text(seen.session_name()),
        "step_id": text(facts.step.as_deref()),
        "key": word(facts.key.as_ref().map(|key| key.as_str())),
        "matched_by": word(seen.matched_by()),
        "bound": text(seen.bound_values().as_deref()),
    }
    out.extend_from_slice(b",\"entry\":");
    let begin = out.len();
    match seen.entry_name() {
        None => out.extend_from_slice(b"null"),
        Some(name) => text(out, name),
    }
    let entry = begin..out.len();
    fields! { out,
        "take": number(seen.served_take().map(|take| take.number as u64)),
        "head_ms": milliseconds(Some(seen.head)),
        "first_byte_ms": milliseconds(seen.first_byte),
        "total_ms": milliseconds(Some(seen.total)),
        "waited_ms": milliseconds(Some(seen.waited)),
        "bytes": number(Some(seen.bytes)),
        "chunks": number(Some(seen.chunks)),
        "end": word(Some(seen.end.as_str())),
        "input_tokens": number(seen.tokens.map(|tokens| tokens.input)),
        "output_tokens": number(seen.tokens.map(|tokens| tokens.output)),
        "cost_usd": dollars(seen.cost_usd),
        "answered_by": text(seen.answered_by()),
        "kept": flag(seen.is_kept()),
        "answer": word(seen.answer_outcome().map(AnswerOutcome::as_str)),
        "answer_reason": text(seen.answer_reason()),
        "attempt": number(seen.attempt_number()),
        "fault": value(seen.fault.as_deref().map(CallFault::to_json).as_ref()),
        "mismatch": value(seen.mismatch().map(RecordingMismatchError::to_json).as_ref()),
    }
    entry
}

/// Writes one of loomrec's own words, which contains nothing to escape.
fn word(out: &mut Vec<u8>, word: &str) {
    out.push(b'"');
    out.extend_from_slice(word.as_bytes());
    out.push(b'"');
}

fn text(out: &mut Vec<u8>, text: &str) {
    // Characters outside ASCII include some that a terminal acts on.
    let escaped = |byte: u8| !matches!(byte, b' '..=b'~') || byte == b'"' || byte == b'\\';
    // It is faster to check all bytes than to stop at the first match.
    match text.bytes().fold(false, |any, byte| any | escaped(byte)) {
        true => write_printable(out, &text),
        false => word(out, text),
    }
}

fn moment(out: &mut Vec<u8>, micros: i64) {
    out.push(b'"');
    out.extend_from_slice(&timestamp_bytes(micros));
    out.push(b'"');
}

fn number(out: &mut Vec<u8>, number: u64) {
    write_json(out, &number);
}

fn dollars(out: &mut Vec<u8>, dollars: f64) {
    write_json(out, &dollars);
}

fn value(out: &mut Vec<u8>, value: &Value) {
    write_printable(out, value);
}

/// Writes text from callers, without characters that a terminal would act on when it shows the
/// file.
pub(super) fn write_printable(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    out.extend_from_slice(printable::printable_json(&text).as_bytes());
}

fn flag(out: &mut Vec<u8>, flag: bool) {
    out.extend_from_slice(if flag { b"true" } else { b"false" });
}

/// Writes milliseconds with one decimal.
fn milliseconds(out: &mut Vec<u8>, time: Duration) {
    let tenths = time.as_secs() * 10_000 + (u64::from(time.subsec_nanos()) + 50_000) / 100_000;
    number(out, tenths / 10);
    out.extend_from_slice(&[b'.', b'0' + (tenths % 10) as u8]);
}

fn write_json(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    // Writing to memory does not fail, and all these values can be written as JSON.
    drop(serde_json::to_writer(out, value));
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
