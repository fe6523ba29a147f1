//! The journal in aimock's shape: the latest requests with their bodies, and how each was answered.
//!
//! It exists only in runs that speak aimock's words. It is bounded in number and in bytes. Requests
//! are kept as they may be stored: without credentials.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::call_record::{CallRecord, SendEnd};
use super::journaled_request::JournaledRequest;
use loomrec_engine::AnswerSource;
use loomrec_fault::FaultSource;

/// The number of entries that are kept, as in aimock.
const KEPT: usize = 1000;
/// About how many bytes they may take.
const KEPT_BYTES: usize = 16 << 20;
/// The longest body that is kept, as in aimock.
const LONGEST_BODY: usize = 64 << 10;

/// An entry: a request, and how it was answered.
#[derive(Clone, Debug)]
pub struct AimockEntry {
    /// The test that the request belongs to.
    pub test: Option<String>,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    request: JournaledRequest,
    at_micros: i64,
    number: u64,
    response: Value,
}

/// The entries of a run.
#[derive(Debug, Default)]
pub struct AimockJournal {
    kept: Mutex<KeptEntries>,
}

#[derive(Debug, Default)]
struct KeptEntries {
    entries: VecDeque<AimockEntry>,
    bytes: usize,
    count: u64,
}

impl AimockJournal {
    /// Adds a call that is over.
    pub fn add(&self, mut request: JournaledRequest, call: &CallRecord) {
        if request.body.len() <= LONGEST_BODY {
            // A copy, as the buffer that the body is a part of may be a lot larger.
            request.body = Bytes::copy_from_slice(&request.body);
        }
        let status = match call.end {
            SendEnd::Complete => call.status,
            SendEnd::ClientLeft | SendEnd::Aborted => call.status.filter(|_| call.bytes > 0),
        };
        let status = status.map_or(0, |status| status.as_u16());
        let mut kept = self.lock();
        kept.count += 1;
        let entry = AimockEntry {
            test: request.test.clone(),
            method: call.facts.method.clone(),
            target: request.target.clone(),
            status,
            response: response(&request, call, status),
            request,
            at_micros: call.at,
            number: kept.count,
        };
        kept.bytes += entry.weight();
        kept.entries.push_back(entry);
        while kept.entries.len() > KEPT || kept.bytes > KEPT_BYTES {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes -= oldest.weight();
        }
    }

    /// Returns the entries for which `is_wanted` holds, oldest first.
    pub fn entries(&self, is_wanted: impl Fn(&AimockEntry) -> bool) -> Vec<Value> {
        let kept = self.lock();
        let wanted = kept.entries.iter().filter(|entry| is_wanted(entry));
        wanted.map(AimockEntry::to_json).collect()
    }

    /// Removes all entries.
    pub fn clear(&self) {
        let mut kept = self.lock();
        kept.entries.clear();
        kept.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, KeptEntries> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AimockEntry {
    /// Whether the request has this header.
    pub fn has_header(&self, name: &str, value: &str) -> bool {
        self.request.headers.iter().any(|(own, held)| own == name && held == value)
    }

    fn to_json(&self) -> Value {
        let request = &self.request;
        let headers = request.headers.iter();
        let headers: Map<String, Value> =
            headers.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        json!({
            "id": format!("req-{}", self.number),
            "timestamp": self.at_micros / 1000,
            "method": self.method,
            "path": self.target,
            "headers": headers,
            "body": body(&request.body),
            "response": self.response,
        })
    }

    fn weight(&self) -> usize {
        let headers = self.request.headers.iter().map(|(name, value)| name.len() + value.len());
        let body = self.request.body.len().min(LONGEST_BODY);
        size_of::<Self>() + 2 * self.target.len() + headers.sum::<usize>() + body + 256
    }
}

/// Returns a body as the journal shows it: null if it is no JSON, a mark if it is too long.
fn body(body: &Bytes) -> Value {
    if body.len() > LONGEST_BODY {
        return json!({
            "__aimock_truncated": true,
            "originalByteSize": body.len(),
            "note": "body truncated by aimock journal cap (64 KB limit)",
        });
    }
    serde_json::from_slice(body).unwrap_or(Value::Null)
}

/// Returns how the call was answered.
fn response(request: &JournaledRequest, call: &CallRecord, status: u16) -> Value {
    let mut out = Map::new();
    out.insert("status".to_owned(), status.into());
    // Where chaos took its place, the entry that would have answered is named all the same.
    let in_place_of = || request.chaos.as_ref().and_then(|chaos| chaos.entry.clone());
    let answered = call.entry().map(str::to_owned).or_else(|| call.script_turn());
    let entry = answered.or_else(in_place_of).map(|entry| json!({ "entry": entry }));
    out.insert("fixture".to_owned(), entry.unwrap_or(Value::Null));
    let fault = call.fault.as_ref().filter(|fault| fault.source == FaultSource::Chaos);
    // aimock's latency is no action.
    let fault = fault.filter(|fault| !fault.only_delays);
    if let (Some(fault), Some(chaos)) = (fault, &request.chaos) {
        let action = match &*fault.rule {
            "rate_limit" => "rateLimit",
            other => other,
        };
        out.insert("chaosAction".to_owned(), action.into());
        out.insert("source".to_owned(), chaos.front.into());
    } else if call.source() == AnswerSource::Upstream {
        out.insert("source".to_owned(), "proxy".into());
    }
    if call.end != SendEnd::Complete && status != 0 {
        out.insert("interrupted".to_owned(), true.into());
    }
    Value::Object(out)
}
