//! Everything that is known of one call.

use serde_json::{Value, json};

use super::{answer, request, sent};
use crate::history::{CarriedParts, ContinuedCall};
use loomrec_recording::Entry;

/// One call, wherever its parts were found.
#[derive(Debug, Default)]
pub struct InspectedCall<'a> {
    /// The number of its journal line.
    pub seq: Option<u64>,
    /// Its line in the journal.
    pub line: Value,
    /// The take that answered it, or that was recorded from it; or its request, without an answer.
    pub entry: Option<&'a Entry>,
    /// The nearest take, if the call was a miss.
    pub nearest: Option<&'a Entry>,
    /// The earlier call that it continues.
    pub earlier: Option<EarlierCall<'a>>,
    /// Why its request or its answer is missing.
    pub why: Option<String>,
}

/// The earlier call that a call continues.
#[derive(Clone, Copy, Debug)]
pub struct EarlierCall<'a> {
    /// How the call continues it.
    pub continued: ContinuedCall,
    /// The number of the earlier call's line.
    pub seq: u64,
    /// The earlier call itself.
    pub entry: &'a Entry,
}

impl InspectedCall<'_> {
    /// Returns the call as JSON. Every member is always present.
    pub fn to_json(&self) -> Value {
        let call = self.entry.and_then(Entry::recognise_call);
        let answer = self.entry.and_then(|entry| answer::to_json(entry, call.as_ref()));
        let carried = self.earlier.zip(self.entry).and_then(|(earlier, entry)| {
            Some((earlier, CarriedParts::of_entries(earlier.continued, earlier.entry, entry)?))
        });
        let parts = carried.as_ref().map(|(_, parts)| parts);
        let fault = self.line.get("fault").filter(|fault| !fault.is_null());
        let fault = fault.or_else(|| self.entry?.fault.as_ref());
        let why =
            self.why.clone().or_else(|| self.missing_part_reason(call.is_some(), answer.is_some()));
        json!({
            "v": 1,
            "seq": self.seq,
            "line": self.line,
            "request": self.entry.and_then(|entry| request::to_json(entry, parts)),
            "answer": answer,
            "exchanged": self.entry.and_then(sent::to_json),
            "mismatch": self.line.get("mismatch").and_then(mismatch_summary),
            "nearest_request": self.nearest.and_then(|nearest| request::to_json(nearest, None)),
            "fault": fault,
            "why_no_bodies": why,
            "continues": carried.map(|(earlier, parts)| json!({
                "seq": earlier.seq,
                "stored": earlier.continued.is_stored,
                "left_out": parts.left_out(),
            })),
        })
    }

    /// Returns why a part of a take is missing.
    fn missing_part_reason(&self, has_request: bool, has_answer: bool) -> Option<String> {
        let entry = self.entry?;
        let why = match (has_request, has_answer) {
            (true, true) => return None,
            (_, false) if entry.fault.is_some() => "a fault replaces the answer",
            (true, false) => "the recording holds no answer to this request",
            (false, _) => "the recording holds the answer's text, but no request",
        };
        Some(why.to_owned())
    }
}

/// Returns a mismatch with its most important parts at the top level.
fn mismatch_summary(told: &Value) -> Option<Value> {
    let nearest = told.get("nearest").filter(|nearest| nearest.is_object());
    let of = |name: &str| nearest.and_then(|nearest| nearest.get(name));
    told.is_object().then(|| {
        json!({
            "reason": told.get("reason"),
            "message": told.get("message"),
            "nearest": nearest.map(|_| json!({
                "entry": of("entry"), "take": of("take"), "recording": of("recording"),
            })),
            "differences": of("differences").cloned().unwrap_or_else(|| json!([])),
            "remedy": told.get("remedy"),
        })
    })
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
