//! One request, from its head to its response: read, placed, observed, answered.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::ACCEPT_ENCODING;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use serde_json::json;

use super::call_tracker::CallTracker;
use super::clock::{arrival, timestamp_of};
use super::connection_context::ConnectionContext;
use super::fault::{self, AbandonedCall};
use super::head_cache::RequestRef;
use super::incoming_call::{IncomingCall, track};
use super::live_call;
use super::observe::STEP_HEADER;
use super::parsed_request::ParsedRequest;
use super::request_body::{self, BodyReadError, SLOWEST_RATE};
use super::request_cache::CachedRequest;
use super::respond::{self, AnyBody, OutBody};
use super::route::{Route, RouteError};
use super::{OnMiss, Proxy, UserNotice, control, cors, refused_connection, script};
use crate::identity::QueryRules;
use crate::provider::Provider;
use crate::replay::{ENTRY, RecordingMismatchError, ReplayAnswer, ReplayEngine, UnexplainedMiss};
use crate::telemetry::call_record::{OutcomeDetail, RequestSummary};
use crate::telemetry::run_counters::RunCounters;

/// A body that announces no more than this is read before its request is placed:
/// whether the request was made before is told by all of it.
const READ_BEFORE_PLACING: u64 = 1 << 20;

/// Answers one request.
///
/// # Errors
/// [`AbandonedCall`] where a fault leaves it without an answer.
pub async fn handle(
    caller: &Arc<ConnectionContext>,
    request: Request<Incoming>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    let tie = |response, account| respond::tie(response, Arc::clone(&caller.connection), account);
    let (mut parts, body) = request.into_parts();
    if !caller.is_served {
        return Ok(tie(refused_connection::turn_away(proxy, &parts, body).await, None));
    }
    let is_here = proxy.config.access.is_for_us(&mut parts);
    let ours = is_here && control::is_control(parts.uri.path());
    caller.connection.asks_for_ours(ours);
    if ours {
        let request = Request::from_parts(parts, ());
        return Ok(tie(control::handle(caller, request).await, None));
    }
    if let Some(name) = &proxy.config.step_header {
        name_step(&mut parts.headers, name);
    }
    let page = match admit(proxy, &parts) {
        Ok(page) => page,
        Err(refusal) => {
            let (response, account) = refuse(caller, &parts, &refusal);
            return Ok(tie(response, Some(account)));
        }
    };
    if let Some(origin) =
        page.as_ref().filter(|_| cors::is_preflight(&parts.method, &parts.headers))
    {
        return Ok(tie(cors::preflight(origin, &parts.headers), None));
    }
    let (mut response, account) = match read(caller, &mut parts, body).await {
        Ok(asked) => {
            let account = Arc::clone(&asked.account);
            (fault::answer(caller, asked).await?, account)
        }
        Err(refusal) => refuse(caller, &parts, &refusal),
    };
    if let Some(origin) = &page {
        cors::allow_reading(response.headers_mut(), origin);
    }
    Ok(tie(response, Some(account)))
}

/// Admits a request, and returns the allowed web origin that it comes from, if any.
fn admit(proxy: &Proxy, parts: &Parts) -> Result<Option<HeaderValue>, Refusal> {
    if parts.method == Method::CONNECT || must_upgrade(&parts.headers) {
        let message = "loomrec records HTTP calls; tunnels (CONNECT) and protocol upgrades \
                       (WebSocket) are refused rather than passed by unrecorded: point the \
                       client's base URL here and use its HTTP transport";
        return Err(Refusal {
            provider: Provider::Unknown,
            status: StatusCode::NOT_IMPLEMENTED,
            kind: "UnsupportedTransport",
            message: message.to_owned(),
        });
    }
    let admitted = proxy.config.access.admit(&parts.uri, &parts.headers);
    admitted.map(Option::<&HeaderValue>::cloned).map_err(|denial| Refusal {
        provider: route(proxy, parts).map_or(Provider::Unknown, |place| place.provider),
        status: denial.status,
        kind: denial.kind,
        message: denial.message,
    })
}

/// Has a request name its step in our header too, where it does so in `own` only. From
/// here on all is as if the program had sent ours, which never goes upstream; its own
/// stays as it was sent.
fn name_step(headers: &mut HeaderMap, own: &HeaderName) {
    let named = headers.get(STEP_HEADER).is_some_and(|value| !value.is_empty());
    if let Some(value) = headers.get(own).filter(|_| !named).cloned() {
        headers.insert(STEP_HEADER, value);
    }
}

/// Why a request is answered by no engine.
struct Refusal {
    provider: Provider,
    status: StatusCode,
    kind: &'static str,
    message: String,
}

/// Says so to the caller and to the person at the terminal, without credentials.
fn refuse(
    caller: &Arc<ConnectionContext>,
    parts: &Parts,
    refusal: &Refusal,
) -> (Response<AnyBody>, Arc<CallTracker>) {
    let proxy = &*caller.proxy;
    let query = parts.uri.query().unwrap_or_default();
    let secrets = caller.secrets(&parts.headers, query, QueryRules::KNOWN);
    let message = proxy.redactor.redact_text(&refusal.message, &secrets);
    RunCounters::count(&proxy.telemetry.counters.refused);
    (proxy.notify)(UserNotice::Refused(&message));
    let path = proxy.redactor.redact_text(parts.uri.path(), &secrets);
    let method = proxy.redactor.redact_text(parts.method.as_str(), &secrets);
    let facts = RequestSummary::refused(&method, &path, refusal.provider);
    let come = (Instant::now(), arrival(&proxy.clock));
    let account = CallTracker::new(caller, come, Arc::new(facts), &parts.headers, &secrets);
    let more = OutcomeDetail::value(json!({ "error": refusal.kind, "message": &*message }));
    account.set_outcome("refused", Some(refusal.status), more, None);
    let response = respond::error(refusal.provider, refusal.status, refusal.kind, &message);
    (response, account)
}

/// Reads a request, and knows it again or observes it; or says why that cannot
/// be. The head is taken out of `parts` only where it can.
async fn read(
    caller: &Arc<ConnectionContext>,
    parts: &mut Parts,
    body: Incoming,
) -> Result<Box<IncomingCall>, Refusal> {
    let refusal =
        |provider, status, kind, message: String| Refusal { provider, status, kind, message };
    let proxy = &*caller.proxy;
    // A body of some length is not read for a request that has no place.
    let early = body.size_hint().exact().is_none_or(|length| length > READ_BEFORE_PLACING);
    let mut placed = if early { Some(route(proxy, parts)?) } else { None };
    let max = proxy.config.max_body;
    let body = match request_body::collect(body, max, proxy.config.client_timeout).await {
        Ok(body) => body,
        Err(unread) => {
            let place = placed.take().map_or_else(|| route(proxy, parts), Ok)?;
            let time_out = proxy.config.client_timeout.as_secs();
            let (status, kind, message) = match unread {
                BodyReadError::Larger => (
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "RequestTooLarge",
                    format!("the request's body is over the limit of {max} bytes; see --max-body"),
                ),
                BodyReadError::Late => (
                    StatusCode::REQUEST_TIMEOUT,
                    "RequestTimeout",
                    format!(
                        "no byte of the request's body came for {time_out} seconds; see \
                         --client-timeout"
                    ),
                ),
                BodyReadError::Slow => (
                    StatusCode::REQUEST_TIMEOUT,
                    "RequestTimeout",
                    format!(
                        "the request's body came at less than {SLOWEST_RATE} bytes a second for \
                         {time_out} seconds; see --client-timeout"
                    ),
                ),
                BodyReadError::Broken => (
                    StatusCode::BAD_REQUEST,
                    "IncompleteRequest",
                    "the request's body ended before its announced length".to_owned(),
                ),
            };
            return Err(refusal(place.provider, status, kind, message));
        }
    };
    let (arrived, at) = (Instant::now(), arrival(&proxy.clock));
    let known = know(caller, parts, &body, placed)?;
    let (method, headers) = (parts.method.clone(), std::mem::take(&mut parts.headers));
    let (facts, secrets) = (Arc::clone(&known.facts), &known.seen.secrets);
    let account = CallTracker::new(caller, (arrived, at), facts, &headers, secrets);
    Ok(Box::new(IncomingCall { known, method, headers, body, arrived, at, fault: None, account }))
}

/// Where a request goes, or that it has no place.
fn route(proxy: &Proxy, parts: &Parts) -> Result<Route, Refusal> {
    if parts.uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        // RFC 9110, section 4.2.4: no client sends one.
        let message = "the request's target holds a user or a password: send them in a header";
        return Err(Refusal {
            provider: Provider::Unknown,
            status: StatusCode::BAD_REQUEST,
            kind: "BadTarget",
            message: message.to_owned(),
        });
    }
    proxy.routes.route(&parts.method, &parts.uri, &parts.headers).map_err(|error| Refusal {
        provider: Provider::Unknown,
        status: match error {
            RouteError::Path { .. } => StatusCode::NOT_FOUND,
            RouteError::Host { .. } => StatusCode::MISDIRECTED_REQUEST,
        },
        kind: "UnknownUpstream",
        message: format!("failed to {error}"),
    })
}

/// What is known of a request: from an earlier time, else looked at now.
fn know(
    caller: &ConnectionContext,
    parts: &Parts,
    body: &Bytes,
    placed: Option<Route>,
) -> Result<Arc<ParsedRequest>, Refusal> {
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    let proxy = &*caller.proxy;
    let observer = &proxy.observer;
    let raw = RequestRef { method, uri, headers, body, named: observer.named() };
    // What is recorded is mostly new, and what it needs is taken out of it.
    let recalled =
        if proxy.replayer.is_some() { observer.memo.recall(&raw) } else { CachedRequest::New };
    if let CachedRequest::Known(known) = recalled {
        return Ok(known);
    }
    let opening = caller.opening(&raw, || {
        let place = placed.map_or_else(|| route(proxy, parts), Ok)?;
        let rules = observer.query_rules(&place.upstream);
        let secrets = caller.secrets(headers, &place.query, rules);
        Ok(observer.open(place, method, headers, secrets))
    })?;
    let recorded = proxy.replayer.as_ref().map(ReplayEngine::matcher);
    let CachedRequest::Again(print) = recalled else {
        return Ok(Arc::new(observer.observe(&opening, body, recorded)));
    };
    // Not the buffer it was read into, which may be a lot larger.
    let body = Bytes::copy_from_slice(body);
    let known = Arc::new(observer.observe(&opening, &body, recorded));
    observer.memo.keep(&print, &RequestRef { body: &body, ..raw }, Arc::clone(&known));
    Ok(known)
}

/// Whether a request asks for another protocol and cannot do without. One that
/// offers HTTP/2 (Java's client does on every plain connection) goes on in HTTP/1.
fn must_upgrade(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(http::header::UPGRADE).iter();
    offers
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
        .any(|offer| !offer.trim_ascii().eq_ignore_ascii_case(b"h2c"))
}

/// Has the engines of this run answer a request.
pub(super) async fn answer(proxy: &Arc<Proxy>, asked: Box<IncomingCall>) -> Response<AnyBody> {
    let Some(replayer) = &proxy.replayer else { return unanswered(proxy, asked, None).await };
    let seen = &asked.known.seen;
    let (accept, arrived) = (accepted(&asked), asked.arrived.into());
    // A body that holds the caller's own key was recorded without it, and a miss
    // is explained without it.
    let found = replayer.answer(&seen.observed, accept, arrived).await;
    let answered = match (found, &seen.scrubbed) {
        (Err(_), Some(scrubbed)) => replayer.answer(scrubbed, accept, arrived).await,
        (found, _) => found,
    };
    match answered {
        Ok(answered) => served(proxy, &asked, answered).await,
        Err(miss) => unanswered(proxy, asked, Some(miss)).await,
    }
}

/// The content encodings that a caller takes.
pub(super) fn accepted(asked: &IncomingCall) -> Option<&str> {
    asked.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok())
}

/// The recorded answer, held back until its first byte is due.
pub(super) async fn served(
    proxy: &Proxy,
    asked: &IncomingCall,
    answered: ReplayAnswer,
) -> Response<AnyBody> {
    proxy.telemetry.counters.serve(answered.usage, answered.cost_usd);
    asked.account.serve(&answered);
    asked.wait_until(answered.response.body().first_due()).await;
    let response = answered.response.map(AnyBody::Replay);
    let more = OutcomeDetail::Entry(response.headers().get(ENTRY).cloned());
    track(asked, "served", Some(response.status()), more);
    response
}

/// What a call gets that no recording answers: it is recorded, where this run records.
pub(super) async fn unanswered(
    proxy: &Arc<Proxy>,
    asked: Box<IncomingCall>,
    miss: Option<UnexplainedMiss>,
) -> Response<AnyBody> {
    match (&proxy.replayer, miss) {
        (Some(replayer), Some(miss)) if proxy.recorder.is_none() => {
            missed(proxy, replayer, asked, miss).await
        }
        _ => live_call::record(proxy, asked).await,
    }
}

/// What a call without a recorded answer gets.
async fn missed(
    proxy: &Arc<Proxy>,
    replayer: &ReplayEngine,
    asked: Box<IncomingCall>,
    miss: UnexplainedMiss,
) -> Response<AnyBody> {
    let observed = asked.known.seen.storable();
    let scripted = replayer.scripted(observed, asked.shape(), asked.arrived.into());
    if let Some(scripted) = scripted {
        return script::answer(proxy, &asked, scripted).await;
    }
    if let OnMiss::Forward(client) = &proxy.on_miss {
        return live_call::pass(proxy, client, asked).await;
    }
    if matches!(proxy.on_miss, OnMiss::Default)
        && let Ok(response) = replayer.placeholder(observed, asked.arrived.into())
    {
        RunCounters::count(&proxy.telemetry.counters.defaulted);
        asked.account.write(|seen| seen.matched_by = Some("default"));
        track(&asked, "default", Some(response.status()), OutcomeDetail::Nothing);
        return response.map(AnyBody::Replay);
    }
    let error = explain(proxy, replayer, miss, &asked).await;
    let response = respond::mismatch(asked.shape(), &error);
    let more = OutcomeDetail::Mismatch(Arc::new(error.to_json()));
    track(&asked, "missed", Some(response.status()), more);
    (proxy.notify)(UserNotice::Missed(&error));
    proxy.telemetry.counters.miss(error);
    response
}

/// Counts a miss that the caller is not told of, having got a fault in place of any
/// answer. What would have been answered in another way is none.
pub(super) async fn count_miss(proxy: &Arc<Proxy>, asked: &IncomingCall, miss: UnexplainedMiss) {
    let Some(replayer) = &proxy.replayer else { return };
    let strict = proxy.recorder.is_none() && matches!(proxy.on_miss, OnMiss::Error);
    if strict && replayer.script().is_none() {
        let error = explain(proxy, replayer, miss, asked).await;
        (proxy.notify)(UserNotice::Missed(&error));
        proxy.telemetry.counters.miss(error);
    }
}

/// Has a miss explained, and its request kept where that is wanted, on a thread that
/// may wait for files.
async fn explain(
    proxy: &Arc<Proxy>,
    replayer: &ReplayEngine,
    miss: UnexplainedMiss,
    asked: &IncomingCall,
) -> RecordingMismatchError {
    let _turn = replayer.turn().await;
    let observed = asked.known.seen.storable();
    let brief = replayer.describe(&miss, observed);
    let (proxy, known, at) = (Arc::clone(proxy), Arc::clone(&asked.known), asked.at);
    let explained = tokio::task::spawn_blocking(move || {
        let observed = known.seen.storable();
        let error = proxy.replayer.as_ref()?.explain(&miss, observed);
        proxy.inspector.recent_misses.keep(at, &observed.request);
        if let Some(missed) = &proxy.missed {
            let recorded_at = timestamp_of(at, missed.place());
            let kept = missed.add(observed, &known.seen.secrets, &error, recorded_at);
            if let Err(error) = kept {
                let text = format!("a missed request is not kept: failed to {}", error.chain());
                (proxy.notify)(UserNotice::Warning(&text));
            }
        }
        Some(error)
    });
    explained.await.ok().flatten().unwrap_or(brief)
}
