//! The log: events of the run, from which a filter chooses.
//!
//! No event contains a body, a header value or a query string, at any level: the event of a call
//! has the fields that the journal has, without those that the call's own headers name.

use std::time::Duration;

use tracing::{Level, debug, enabled, info, trace};

use super::call_record::CallRecord;

/// Whether calls are logged.
pub fn tells_calls() -> bool {
    enabled!(target: "loomrec::call", Level::INFO)
}

/// Logs a call that is over.
pub fn note_call(seen: &CallRecord) {
    let facts = &*seen.facts;
    let tokens = seen.tokens.map(|tokens| (tokens.input, tokens.output)).unwrap_or_default();
    info!(
        target: "loomrec::call",
        outcome = seen.outcome.as_str(),
        mode = seen.mode,
        status = seen.status.map(|status| status.as_u16()),
        method = facts.method,
        path = facts.path,
        upstream = facts.upstream,
        provider = facts.provider.name(),
        operation = facts.operation.as_str(),
        rpc = facts.rpc,
        model = facts.model,
        streamed = facts.streamed,
        matched_by = seen.matched_by(),
        reason = seen.mismatch_reason(),
        fault = seen.fault.as_deref().map(|fault| fault.kind),
        head_ms = milliseconds(seen.head),
        total_ms = milliseconds(seen.total),
        bytes = seen.bytes,
        chunks = seen.chunks,
        end = seen.end.as_str(),
        input_tokens = tokens.0,
        output_tokens = tokens.1,
    );
}

/// Logs a fault that has happened.
pub fn note_fault(kind: &str, source: &str) {
    debug!(target: "loomrec::fault", kind, source, "a fault has happened");
}

/// Logs a request to a control endpoint.
pub fn note_control(status: u16) {
    debug!(target: "loomrec::control", status, "a control endpoint was asked for");
}

/// Logs a connection that was accepted.
pub fn note_accepted(number: u64) {
    trace!(target: "loomrec::connection", number, "accepted");
}

/// Logs a connection that has ended.
pub fn note_closed(number: u64) {
    trace!(target: "loomrec::connection", number, "closed");
}

fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 10_000.0).round() / 10.0
}
