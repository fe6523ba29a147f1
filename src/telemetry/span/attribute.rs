//! The span of a call: its name, times, attributes and events.
//!
//! Names follow OpenTelemetry's conventions for generative AI and for HTTP. loomrec's own names
//! begin with `loomrec.`. docs/traces.md lists them. No attribute contains a body, a query string,
//! or a header value other than the step and the session.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{
    Event, Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _,
};
use opentelemetry::{Array, Context, Key, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::SdkTracer;

use super::config::SpanDetails;
use super::parent::ParentSpan;
use super::semantic::{called_system, known_method};
use crate::call_record::{CallRecord, SendEnd};
use loomrec_dialect::compat::telemetry_name;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_engine::{CallOutcome, RequestSummary, clip_text};
use loomrec_fault::CallFault;
use loomrec_provider::AnswerOutcome;

/// Makes the span of a call as a child of its caller's span, and ends it.
pub(super) fn make_span(tracer: &SdkTracer, seen: &CallRecord, about: &SpanDetails) {
    let start = UNIX_EPOCH + Duration::from_micros(u64::try_from(seen.at).unwrap_or(0));
    let builder = SpanBuilder::from_name(span_name(&seen.facts))
        .with_kind(SpanKind::Server)
        .with_start_time(start)
        .with_attributes(span_attributes(seen, about))
        .with_events(span_events(seen, start));
    let context = seen.parent.as_deref().map_or_else(Context::new, parent_context);
    let mut span = tracer.build_with_context(builder, &context);
    if span_failure(seen).is_some_and(|failure| failure.is_ours) {
        span.set_status(Status::error(seen.outcome.as_str()));
    }
    span.end_with_timestamp(start + seen.total);
}

/// Returns the context of the caller's span.
fn parent_context(parent: &ParentSpan) -> Context {
    let flags = if parent.sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    let state: TraceState = parent.state.parse().unwrap_or_default();
    let (trace, span) = (TraceId::from(parent.trace), SpanId::from(parent.span));
    Context::new().with_remote_span_context(SpanContext::new(trace, span, flags, true, state))
}

/// Returns the name of a span: the operation and the model, or the method and the tool in JSON-RPC, or
/// the HTTP method if it is neither.
fn span_name(facts: &RequestSummary) -> Cow<'static, str> {
    match (facts.operation.semantic_name(), &facts.model) {
        (Some(operation), Some(model)) => format!("{operation} {model}").into(),
        (Some(operation), None) => operation.into(),
        (None, _) => match &facts.rpc {
            Some(rpc) => rpc.clone().into(),
            None => known_method(&facts.method).unwrap_or("HTTP").into(),
        },
    }
}

/// The failure of a call.
struct SpanFailure {
    /// The kind of failure.
    kind: Cow<'static, str>,
    /// Whether the span is marked as failed: a client's mistake is not an error of the server.
    is_ours: bool,
}

fn span_failure(seen: &CallRecord) -> Option<SpanFailure> {
    let status = seen.status.map(|status| status.as_u16());
    let failed = status.is_none_or(|status| status >= 400) || seen.end == SendEnd::Aborted;
    let ours = |kind: Cow<'static, str>| Some(SpanFailure { kind, is_ours: true });
    match (&seen.outcome, seen.fault.as_deref(), status) {
        (CallOutcome::Missed(_), ..) => ours("RecordingMismatchError".into()),
        (
            outcome @ (CallOutcome::Unreachable { .. }
            | CallOutcome::Refused { .. }
            | CallOutcome::Unanswered
            | CallOutcome::Unscripted { .. }),
            ..,
        ) => ours(outcome.as_str().into()),
        (CallOutcome::Left, ..) => Some(SpanFailure { kind: "client_left".into(), is_ours: false }),
        (_, Some(fault), _) if failed => ours(fault.kind.into()),
        (_, _, Some(status)) if status >= 400 => {
            Some(SpanFailure { kind: status.to_string().into(), is_ours: status >= 500 })
        }
        _ if seen.end == SendEnd::Aborted => ours("aborted".into()),
        _ => {
            let outcome = seen.answer_outcome().filter(|outcome| outcome.is_failure())?;
            ours(outcome.as_str().into())
        }
    }
}

/// A growing list of attributes.
struct SpanAttributes(Vec<KeyValue>);

impl SpanAttributes {
    fn put(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.push(KeyValue::new(key, value));
    }

    fn put_optional(&mut self, key: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn put_text(&mut self, key: &'static str, value: Option<&str>) {
        self.put_optional(key, value.map(str::to_owned));
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn span_attributes(seen: &CallRecord, about: &SpanDetails) -> Vec<KeyValue> {
    let mut out = SpanAttributes(Vec::with_capacity(40));
    of_conventions(&mut out, seen, about);
    add_own(&mut out, seen);
    if about.compat {
        add_compat(&mut out, seen);
    }
    out.0
}

/// Adds the attributes that OpenTelemetry's conventions define.
fn of_conventions(out: &mut SpanAttributes, seen: &CallRecord, about: &SpanDetails) {
    let facts = &*seen.facts;
    out.put_optional("gen_ai.operation.name", facts.operation.semantic_name());
    if let Some(system) = called_system(facts) {
        out.put("gen_ai.system", system);
        out.put("gen_ai.provider.name", system);
    }
    let (rpc, tool) = facts.rpc.as_deref().map_or((None, None), |rpc| match rpc.split_once(' ') {
        Some((rpc, tool)) => (Some(rpc), Some(tool)),
        None => (Some(rpc), None),
    });
    out.put_text("mcp.method.name", rpc);
    out.put_text("gen_ai.tool.name", tool);
    out.put_text("gen_ai.request.model", facts.model.as_deref());
    if facts.operation.semantic_name().is_some() {
        out.put("gen_ai.request.stream", facts.streamed);
    }
    out.put_text("gen_ai.response.model", seen.answered_by());
    if let Some(tokens) = seen.tokens.filter(|tokens| !tokens.is_empty()) {
        out.put("gen_ai.usage.input_tokens", whole(tokens.input));
        out.put("gen_ai.usage.output_tokens", whole(tokens.output));
    }
    match known_method(&facts.method) {
        Some(method) => out.put("http.request.method", method),
        None => {
            out.put("http.request.method", "_OTHER");
            out.put("http.request.method_original", facts.method.clone());
        }
    }
    out.put("url.path", facts.path.clone());
    out.put_optional(
        "http.response.status_code",
        seen.status.map(|status| i64::from(status.as_u16())),
    );
    if let Some((host, port)) = about.addresses.get(&facts.upstream) {
        out.put("server.address", host.clone());
        out.put("server.port", i64::from(*port));
    }
    out.put_optional("error.type", span_failure(seen).map(|failure| failure.kind));
}

/// Adds loomrec's own attributes.
fn add_own(out: &mut SpanAttributes, seen: &CallRecord) {
    let facts = &*seen.facts;
    out.put("loomrec.mode", seen.mode);
    out.put("loomrec.outcome", seen.outcome.as_str());
    out.put_optional("loomrec.source", seen.answer_source().as_str());
    out.put_text("loomrec.upstream", Some(&*facts.upstream).filter(|name| !name.is_empty()));
    out.put("loomrec.operation", facts.operation.as_str());
    out.put_text("loomrec.key", facts.key.as_ref().map(|key| key.as_str()));
    out.put_text("loomrec.step_id", facts.step.as_deref());
    out.put_text("loomrec.session", seen.session_name());
    out.put_optional("loomrec.matched_by", seen.matched_by());
    out.put_optional("loomrec.entry", seen.entry_name().map(clip_text));
    out.put_optional("loomrec.take", seen.served_take().map(|take| whole(take.number as u64)));
    out.put_optional("loomrec.attempt", seen.attempt_number().map(whole));
    out.put_optional("loomrec.cost_usd", seen.cost_usd);
    out.put_optional("loomrec.kept", seen.is_kept());
    out.put_optional("loomrec.answer", seen.answer_outcome().map(AnswerOutcome::as_str));
    out.put_text("loomrec.answer_reason", seen.answer_reason());
    out.put("loomrec.end", seen.end.as_str());
    out.put("loomrec.bytes", whole(seen.bytes));
    out.put("loomrec.chunks", whole(seen.chunks));
    if let Some(fault) = seen.fault.as_deref() {
        out.put("loomrec.fault_type", fault.kind);
        out.put("loomrec.fault_source", fault.source.as_str());
    }
    out.put_text("loomrec.mismatch_reason", seen.mismatch_reason());
}

/// Adds some attributes under another tool's names.
fn add_compat(out: &mut SpanAttributes, seen: &CallRecord) {
    if let Some(by) = seen.matched_by().map(telemetry_name::matched_by) {
        let step = seen.facts.step.as_deref();
        for [matched_by, step_id] in telemetry_name::SPAN_REPLAY {
            out.put(matched_by, by);
            out.put_text(step_id, step);
        }
    }
    out.put_optional(telemetry_name::SPAN_FAULT, seen.fault.as_deref().map(|fault| fault.kind));
    if let Some(exchange) = seen.exchange.as_ref().filter(|exchange| exchange.outcome.is_ok()) {
        let times = &exchange.times;
        let model = seen.facts.model.as_deref().or(seen.answered_by());
        let latency = times.last.saturating_sub(times.sent).as_secs_f64();
        for [provider_name, model_name, latency_name] in telemetry_name::SPAN_RECORDING {
            out.put(provider_name, seen.facts.provider.name());
            out.put_text(model_name, model);
            out.put(latency_name, latency);
        }
    }
}

/// Returns the events of a span.
fn span_events(seen: &CallRecord, start: SystemTime) -> Vec<Event> {
    let event = |name: &'static str, after: Duration, attributes: Vec<KeyValue>| {
        Event::new(name, start + after.min(seen.total), attributes, 0)
    };
    let mut out = Vec::new();
    let head = if seen.status.is_some() { seen.head } else { seen.total };
    if let Some(fault) = seen.fault.as_deref() {
        out.push(event("loomrec.fault", head, fault_of(fault)));
    }
    if let Some(mismatch) = seen.mismatch() {
        out.push(event("loomrec.mismatch", head, mismatch_of(mismatch)));
    }
    if let Some(first) = seen.first_byte {
        out.push(event("loomrec.first_byte", first, Vec::new()));
    }
    out
}

fn fault_of(fault: &CallFault) -> Vec<KeyValue> {
    let mut out = SpanAttributes(Vec::new());
    out.put("loomrec.fault_id", whole(fault.id));
    out.put("loomrec.fault_type", fault.kind);
    out.put("loomrec.fault_source", fault.source.as_str());
    out.put("loomrec.fault_rule", clip_text(&fault.rule));
    out.0
}

/// Returns why a call was missed, and in which places it differs from the nearest one, but not the
/// values in those places.
fn mismatch_of(mismatch: &RecordingMismatchError) -> Vec<KeyValue> {
    let mut out = SpanAttributes(Vec::new());
    out.put("loomrec.mismatch_reason", mismatch.reason.as_str());
    let Some(nearest) = &mismatch.nearest else { return out.0 };
    out.put("loomrec.nearest_entry", clip_text(&nearest.name));
    let pointers = nearest.differences.iter().map(|one| StringValue::from(clip_text(&one.place)));
    let pointers = Value::Array(Array::String(pointers.collect()));
    out.0.push(KeyValue::new(Key::new("loomrec.differing"), pointers));
    out.0
}
