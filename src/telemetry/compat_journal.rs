//! The journal in another tool's shape: the latest requests with their bodies, and how each was
//! answered.
//!
//! It exists only in runs that speak that tool's words. It is bounded in number and in bytes. Requests
//! are kept as they may be stored: without credentials.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::Value;

use super::call_record::{CallRecord, SendEnd};
use super::journaled_request::JournaledRequest;
use loomrec_dialect::compat::journal::{JournaledAnswer, JournaledCall, KEPT, LONGEST_BODY};
use loomrec_engine::AnswerSource;
use loomrec_fault::FaultSource;

/// About how many bytes the entries may take.
const KEPT_BYTES: usize = 16 << 20;

/// The entries of a run.
#[derive(Debug, Default)]
pub struct CompatJournal {
    kept: Mutex<KeptEntries>,
}

#[derive(Debug, Default)]
struct KeptEntries {
    entries: VecDeque<JournaledCall>,
    bytes: usize,
    count: u64,
}

impl CompatJournal {
    /// Adds a call that is over.
    pub fn add_call(&self, mut request: JournaledRequest, call: &CallRecord) {
        if request.body.len() <= LONGEST_BODY {
            // A copy, as the buffer that the body is a part of may be a lot larger.
            request.body = Bytes::copy_from_slice(&request.body);
        }
        let answer = journaled_answer(&request, call);
        let JournaledRequest { target, headers, body, test, .. } = request;
        let mut kept = self.lock();
        kept.count += 1;
        let entry = JournaledCall {
            number: kept.count,
            at_micros: call.at,
            test,
            method: call.facts.method.clone(),
            target,
            headers,
            body,
            answer,
        };
        kept.bytes += entry.approximate_bytes();
        kept.entries.push_back(entry);
        while kept.entries.len() > KEPT || kept.bytes > KEPT_BYTES {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes -= oldest.approximate_bytes();
        }
    }

    /// Returns the entries for which `is_wanted` holds, oldest first.
    pub fn matching_entries(&self, is_wanted: impl Fn(&JournaledCall) -> bool) -> Vec<Value> {
        let kept = self.lock();
        let wanted = kept.entries.iter().filter(|entry| is_wanted(entry));
        wanted.map(JournaledCall::to_json).collect()
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

/// Returns how the call was answered.
fn journaled_answer(request: &JournaledRequest, call: &CallRecord) -> JournaledAnswer {
    let status = match call.end {
        SendEnd::Complete => call.status,
        SendEnd::ClientLeft | SendEnd::Aborted => call.status.filter(|_| call.bytes > 0),
    };
    // Where chaos took its place, the entry that would have answered is named all the same.
    let in_place_of = || request.chaos.as_ref().and_then(|chaos| chaos.entry.clone());
    let answered = call.entry_name().map(str::to_owned).or_else(|| call.script_turn());
    let fault = call.fault.as_ref().filter(|fault| fault.source == FaultSource::Chaos);
    // A mere delay is no action.
    let fault = fault.filter(|fault| !fault.only_delays);
    let chaos = fault.zip(request.chaos.as_ref());
    JournaledAnswer {
        status: status.map_or(0, |status| status.as_u16()),
        entry: answered.or_else(in_place_of),
        chaos: chaos.map(|(fault, chaos)| (fault.rule.to_string(), chaos.front)),
        is_live: call.answer_source() == AnswerSource::Upstream,
        is_cut: call.end != SendEnd::Complete,
    }
}
