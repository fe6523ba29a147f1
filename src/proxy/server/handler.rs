//! The handler of one request: reads it, routes it, removes credentials, has it answered.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};

use super::connection_context::ConnectionContext;
use super::fault::{self, AbandonedCall, FaultLayer};
use super::open_call::{CallArrival, OpenCall};
use super::peer::CallerStanding;
use super::request_body::{self, BodyReadError, SLOWEST_RATE};
use super::respond::{self, OutBody, ResponseBody};
use super::response_control::ResponseControl;
use super::session::{self, EntryRefusal};
use super::{
    Proxy, browser_request, compat_request, control, cors, protocol_upgrade, refused_connection,
};
use loomrec_engine::observe::{ParsedHead, STEP_HEADER};
use loomrec_engine::replay::WithheldAnswer;
use loomrec_engine::route::{Route, RouteError};
use loomrec_engine::{
    CachedRequest, CallOutcome, IncomingCall, ParsedRequest, RequestRef, RequestSummary,
};
use loomrec_engine::{blocking, error_response};
use loomrec_identity::QueryRules;
use loomrec_provider::Provider;

/// A body whose announced length is at most this is read before its request is routed: the cache of
/// earlier requests is looked up by the whole request.
const READ_BEFORE_PLACING: u64 = 1 << 20;

/// Answers one request.
///
/// # Errors
/// [`AbandonedCall`] if a fault or a script leaves the request without an answer.
pub async fn handle(
    caller: &Arc<ConnectionContext>,
    response_control: ResponseControl,
    request: Request<Incoming>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    let (mut parts, body) = request.into_parts();
    if !caller.is_served {
        return Ok(respond::send(
            refused_connection::turn_away(proxy, &parts, body).await,
            response_control,
            None,
        ));
    }
    let is_here = proxy.config.access.is_for_us(&mut parts);
    if is_here {
        session::take_control_prefix(&mut parts);
    }
    let ours = is_here && control::is_control(proxy, parts.uri.path());
    let of_session = match &caller.sessions {
        Some(sessions) if is_here => sessions.enter_control(caller, &mut parts).await,
        _ => None,
    };
    if ours || of_session.is_some() {
        let caller = of_session.as_ref().unwrap_or(caller);
        caller.connection.set_own_response(true);
        let request = Request::from_parts(parts, body);
        return Ok(respond::send(control::handle(caller, request).await, response_control, None));
    }
    caller.connection.set_own_response(false);
    if let Some(name) = &proxy.config.step_header {
        name_step(&mut parts.headers, name);
    }
    let page = match admit(proxy, &parts) {
        Ok(page) => page,
        Err(refusal) => {
            let (call, response) = refuse(caller, &parts, refusal);
            return Ok(respond::send(response, response_control, Some(call)));
        }
    };
    if let Some(origin) =
        page.as_ref().filter(|_| cors::is_preflight(&parts.method, &parts.headers))
    {
        return Ok(respond::send(cors::preflight(origin, &parts.headers), response_control, None));
    }
    if let Some(response) = browser_request::answer(&proxy.routes, &parts) {
        return Ok(respond::send(response, response_control, None));
    }
    let Some(sessions) = &caller.sessions else {
        return answer(caller, response_control, (parts, body), page).await;
    };
    match sessions.enter(caller, &mut parts).await {
        Ok(caller) => answer(&caller, response_control, (parts, body), page).await,
        Err(refusal) => {
            read_small(proxy, body).await;
            let refusal = CallRefusal::no_session(proxy, &parts, refusal);
            let (call, response) = refuse(caller, &parts, refusal);
            Ok(respond::send(response, response_control, Some(call)))
        }
    }
}

/// Answers a call that was admitted, from a page of this origin if it is from one.
async fn answer(
    caller: &Arc<ConnectionContext>,
    response_control: ResponseControl,
    (mut parts, body): (Parts, Incoming),
    page: Option<HeaderValue>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let (call, mut response) = match read(caller, &mut parts, body).await {
        Ok((call, mut open)) => {
            if caller.proxy.telemetry.metrics.is_compat() {
                open.record().journaled = Some(compat_request::journaled(&call));
            }
            let shape = call.error_shape();
            let faults = FaultLayer { caller, control: &response_control, open: &mut open };
            let mut response = faults.answer(call).await?;
            if open.record().mismatch().is_some() {
                response = Box::pin(withhold_mismatch(caller, shape, response)).await;
            }
            if let Some(WithheldAnswer { cut }) = response.extensions().get() {
                return Err(fault::withhold(&response_control, &mut open, *cut));
            }
            (open, response)
        }
        Err(refusal) => refuse(caller, &parts, refusal),
    };
    if let Some(origin) = &page {
        cors::allow_reading(response.headers_mut(), origin);
    }
    Ok(respond::send(response, response_control, Some(call)))
}

/// Leaves out of a miss what the recording holds, for callers of another user of this machine.
async fn withhold_mismatch(
    caller: &ConnectionContext,
    shape: Provider,
    response: Response<ResponseBody>,
) -> Response<ResponseBody> {
    if caller.peer.control_caller().await.standing != CallerStanding::OtherUser {
        return response;
    }
    let why = "no recorded answer for this call; what the recording holds is shown to the user \
               that runs loomrec only";
    let kind = "RecordingMismatchError";
    error_response::final_error(shape, response.status(), kind, why).map(ResponseBody::Answer)
}

/// Admits a request, and returns the allowed web origin that it comes from, if any.
fn admit(proxy: &Proxy, parts: &Parts) -> Result<Option<HeaderValue>, CallRefusal> {
    let unsupported = |provider, status, message: &str| CallRefusal {
        provider,
        status,
        kind: "UnsupportedTransport",
        message: message.to_owned(),
    };
    if parts.method == Method::CONNECT {
        let (status, message) = (StatusCode::NOT_IMPLEMENTED, protocol_upgrade::NO_TUNNEL);
        return Err(unsupported(Provider::UNKNOWN, status, message));
    }
    let provider = || route(proxy, parts).map_or(Provider::UNKNOWN, |place| place.provider);
    let admitted = proxy.config.access.admit(&parts.uri, &parts.headers);
    let page = admitted.map_err(|denial| CallRefusal {
        provider: provider(),
        status: denial.status,
        kind: denial.kind,
        message: denial.message,
    })?;
    if protocol_upgrade::is_websocket(parts) {
        let (status, message) = (StatusCode::UPGRADE_REQUIRED, protocol_upgrade::NO_WEBSOCKET);
        return Err(unsupported(provider(), status, message));
    }
    Ok(page.cloned())
}

/// Copies the step from a user's own header `own` to loomrec's header, if the request does not name
/// it there. From here on the request looks as if the program had sent loomrec's header, which
/// never goes upstream. The user's header stays as it was sent.
fn name_step(headers: &mut HeaderMap, own: &HeaderName) {
    let named = headers.get(STEP_HEADER).is_some_and(|value| !value.is_empty());
    if let Some(value) = headers.get(own).filter(|_| !named).cloned() {
        headers.insert(STEP_HEADER, value);
    }
}

/// Why a request is refused without an engine.
struct CallRefusal {
    provider: Provider,
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl CallRefusal {
    /// Refuses a call that has no session.
    fn no_session(proxy: &Proxy, parts: &Parts, refusal: EntryRefusal) -> Self {
        let EntryRefusal { status, message } = refusal;
        let provider = route(proxy, parts).map_or(Provider::UNKNOWN, |place| place.provider);
        Self { provider, status, kind: "NoSession", message }
    }
}

/// Reads the body of a request that is refused, if it is not long: a connection whose request was
/// not read to its end cannot be used again.
async fn read_small(proxy: &Proxy, body: Incoming) {
    if body.size_hint().exact().is_some_and(|length| length <= READ_BEFORE_PLACING) {
        let max = proxy.config.max_body;
        // The request is refused whatever its body is.
        drop(request_body::collect(body, max, proxy.config.client_timeout).await);
    }
}

/// Refuses a request, and notifies the person at the terminal, without credentials.
fn refuse(
    caller: &Arc<ConnectionContext>,
    parts: &Parts,
    refusal: CallRefusal,
) -> (Box<OpenCall>, Response<ResponseBody>) {
    let proxy = &*caller.proxy;
    let query = parts.uri.query().unwrap_or_default();
    let secrets = caller.secrets(&parts.headers, query, QueryRules::KNOWN);
    let clean = |text: &str| proxy.redactor.redact_text(text, &secrets).into_owned();
    let message = clean(&refusal.message);
    let (method, path) = (clean(parts.method.as_str()), clean(parts.uri.path()));
    let summary = RequestSummary::refused(&method, &path, refusal.provider);
    let arrival = CallArrival { instant: Instant::now(), micros: proxy.clock.arrival() };
    let mut call = OpenCall::new(caller, arrival, Arc::new(summary), &parts.headers, &secrets);
    let mut response = respond::error(refusal.provider, refusal.status, refusal.kind, &message);
    protocol_upgrade::name_protocol(&mut response);
    let outcome = match refusal.status {
        StatusCode::UPGRADE_REQUIRED => CallOutcome::UpgradeRefused,
        _ => CallOutcome::Refused { kind: Some(refusal.kind), message },
    };
    call.set_outcome(outcome, Some(refusal.status));
    (call, response)
}

/// Reads a request and opens its call, or returns why that is impossible. The headers are taken out
/// of `parts` only if it succeeds.
async fn read(
    caller: &Arc<ConnectionContext>,
    parts: &mut Parts,
    body: Incoming,
) -> Result<(Box<IncomingCall>, Box<OpenCall>), CallRefusal> {
    let refusal =
        |provider, status, kind, message: String| CallRefusal { provider, status, kind, message };
    let proxy = &*caller.proxy;
    // The body of a request that cannot be routed is not read if it is long.
    let early = body.size_hint().exact().is_none_or(|length| length > READ_BEFORE_PLACING);
    let mut placed = if early { Some(route(proxy, parts)?) } else { None };
    let max = proxy.config.max_body;
    caller.connection.set_reading(true);
    let read = request_body::collect(body, max, proxy.config.client_timeout).await;
    caller.connection.set_reading(false);
    let body = match read {
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
    let arrival = CallArrival { instant: Instant::now(), micros: proxy.clock.arrival() };
    let parsed = parse(caller, parts, &body, placed).await?;
    let (method, headers) = (parts.method.clone(), std::mem::take(&mut parts.headers));
    let (summary, secrets) = (Arc::clone(&parsed.summary), &parsed.redacted.secrets);
    let mut open = OpenCall::new(caller, arrival, summary, &headers, secrets);
    let is_held = open.expect_hold();
    open.session_path = session::take_session_path(parts).0;
    let CallArrival { instant: arrived, micros: arrived_at } = arrival;
    let call = IncomingCall { parsed, method, headers, body, arrived, arrived_at, is_held };
    Ok((Box::new(call), open))
}

/// Returns the route of a request, or the refusal if it has none.
fn route(proxy: &Proxy, parts: &Parts) -> Result<Route, CallRefusal> {
    if parts.uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        // RFC 9110, section 4.2.4: clients must not send user information.
        let message = "the request's target holds a user or a password: send them in a header";
        return Err(CallRefusal {
            provider: Provider::UNKNOWN,
            status: StatusCode::BAD_REQUEST,
            kind: "BadTarget",
            message: message.to_owned(),
        });
    }
    proxy.routes.route(&parts.method, &parts.uri, &parts.headers).map_err(|error| CallRefusal {
        provider: Provider::UNKNOWN,
        status: match error {
            RouteError::Path { .. } => StatusCode::NOT_FOUND,
            RouteError::Host { .. } => StatusCode::MISDIRECTED_REQUEST,
        },
        kind: "UnknownUpstream",
        message: format!("failed to {error}"),
    })
}

/// Returns what is derived from the bytes of a request: the cached result of an earlier one, or a
/// new one.
async fn parse(
    caller: &ConnectionContext,
    parts: &Parts,
    body: &Bytes,
    placed: Option<Route>,
) -> Result<Arc<ParsedRequest>, CallRefusal> {
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    let proxy = &*caller.proxy;
    let (observer, replay) = (&proxy.observer, proxy.engine.replay());
    let request = RequestRef { method, uri, headers, body, named: observer.named() };
    // When recording, most requests are new, and recording takes parts out of the parsed request.
    let cached = if replay.is_some() { observer.memo.recall(&request) } else { CachedRequest::New };
    if let CachedRequest::Known(parsed) = cached {
        return Ok(parsed);
    }
    let head = caller.opening(&request, || {
        let place = placed.map_or_else(|| route(proxy, parts), Ok)?;
        let rules = observer.query_rules(&place.upstream);
        let secrets = caller.secrets(headers, &place.query, rules);
        Ok(observer.open(place, method, headers, secrets))
    })?;
    let CachedRequest::Again(print) = cached else {
        return Ok(observe(&caller.proxy, head, body).await);
    };
    // A copy, as the buffer that it was read into may be a lot larger.
    let body = Bytes::copy_from_slice(body);
    let parsed = observe(&caller.proxy, head, &body).await;
    observer.memo.keep(&print, &RequestRef { body: &body, ..request }, Arc::clone(&parsed));
    Ok(parsed)
}

/// Identifies a request and redacts its body, on a blocking thread if that may take long.
async fn observe(proxy: &Arc<Proxy>, head: Arc<ParsedHead>, body: &Bytes) -> Arc<ParsedRequest> {
    let observe = |proxy: &Proxy, head: &ParsedHead, body: &Bytes| {
        let recorded = proxy.engine.replay().map(|replay| replay.matcher());
        Arc::new(proxy.observer.observe(head, body, recorded))
    };
    if !head.has_slow_body(body) && !proxy.observer.may_read_repository(&head, body) {
        return observe(proxy, &head, body);
    }
    let (proxy, body) = (Arc::clone(proxy), body.clone());
    Box::pin(blocking::run_blocking(move || observe(&proxy, &head, &body))).await
}
