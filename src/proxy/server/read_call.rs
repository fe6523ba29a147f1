//! Requests on their way to an engine: each is read, routed and redacted, and its call is opened.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use hyper::body::{Body as _, Incoming};

use super::Proxy;
use super::call_refusal::CallRefusal;
use super::connection_context::ConnectionContext;
use super::open_call::{CallArrival, OpenCall};
use super::request_body::{self, BodyReadError, SLOWEST_RATE};
use super::session;
use loomrec_engine::blocking;
use loomrec_engine::observe::ParsedHead;
use loomrec_engine::route::{Route, RouteError};
use loomrec_engine::upstream::AwsScope;
use loomrec_engine::{CachedRequest, IncomingCall, ParsedRequest, RequestRef};
use loomrec_provider::Provider;

/// A body whose announced length is at most this is read before its request is routed: the cache of
/// earlier requests is looked up by the whole request.
pub(super) const READ_BEFORE_PLACING: u64 = 1 << 20;

/// Reads a request and opens its call, or returns why that is impossible. The headers are taken out
/// of `parts` only if it succeeds.
pub(super) async fn read_request(
    caller: &Arc<ConnectionContext>,
    parts: &mut Parts,
    body: Incoming,
) -> Result<(Box<IncomingCall>, Box<OpenCall>), CallRefusal> {
    let refusal =
        |provider, status, kind, message: String| CallRefusal { provider, status, kind, message };
    let proxy = &*caller.proxy;
    // The body of a request that cannot be routed is not read if it is long.
    let early = body.size_hint().exact().is_none_or(|length| length > READ_BEFORE_PLACING);
    let mut placed = if early { Some(route_request(proxy, parts)?) } else { None };
    let max = proxy.config.max_body;
    caller.connection.set_reading(true);
    let read = request_body::collect_body(body, max, proxy.config.client_timeout).await;
    caller.connection.set_reading(false);
    let body = match read {
        Ok(body) => body,
        Err(unread) => {
            let place = placed.take().map_or_else(|| route_request(proxy, parts), Ok)?;
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
    open_call(caller, parts, body, placed).await
}

/// Opens the call of a request that was read. The headers are taken out of `parts` only if it
/// succeeds.
pub(super) async fn open_call(
    caller: &Arc<ConnectionContext>,
    parts: &mut Parts,
    body: Bytes,
    placed: Option<Route>,
) -> Result<(Box<IncomingCall>, Box<OpenCall>), CallRefusal> {
    let arrival =
        CallArrival { instant: Instant::now(), micros: caller.proxy.clock.next_arrival_time() };
    let parsed = parse_request(caller, parts, &body, placed).await?;
    let (method, headers) = (parts.method.clone(), std::mem::take(&mut parts.headers));
    let (summary, secrets) = (Arc::clone(&parsed.summary), &parsed.redacted.secrets);
    let mut open = OpenCall::new(caller, arrival, summary, &headers, secrets);
    let is_held = open.expect_hold();
    let signed_target = AwsScope::is_signed(&headers).then(|| session::whole_target(parts));
    open.session_path = session::take_session_path(parts).0;
    let CallArrival { instant: arrived, micros: arrived_at } = arrival;
    let (turn, is_turn) = (None, false);
    let call = IncomingCall {
        parsed,
        method,
        headers,
        body,
        signed_target,
        arrived,
        arrived_at,
        is_held,
        is_turn,
        turn,
    };
    Ok((Box::new(call), open))
}

/// Returns the route of a request, or the refusal if it has none.
pub(super) fn route_request(proxy: &Proxy, parts: &Parts) -> Result<Route, CallRefusal> {
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
    proxy.routes.find_route(&parts.method, &parts.uri, &parts.headers).map_err(|error| {
        CallRefusal {
            provider: Provider::UNKNOWN,
            status: match error {
                RouteError::Path { .. } => StatusCode::NOT_FOUND,
                RouteError::Host { .. } | RouteError::HostPath { .. } => {
                    StatusCode::MISDIRECTED_REQUEST
                }
            },
            kind: "UnknownUpstream",
            message: format!("failed to {error}"),
        }
    })
}

/// Returns what is derived from the bytes of a request: the cached result of an earlier one, or a
/// new one.
pub(super) async fn parse_request(
    caller: &ConnectionContext,
    parts: &Parts,
    body: &Bytes,
    placed: Option<Route>,
) -> Result<Arc<ParsedRequest>, CallRefusal> {
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    let proxy = &*caller.proxy;
    let (observer, replay) = (&proxy.observer, proxy.engine.replay_engine());
    let request_ref = RequestRef { method, uri, headers, body, named: observer.named_headers() };
    // When recording, most requests are new, and recording takes parts out of the parsed request.
    let cached =
        if replay.is_some() { observer.memo.look_up(&request_ref) } else { CachedRequest::New };
    if let CachedRequest::Known(parsed) = cached {
        return Ok(parsed);
    }
    let head = caller.parsed_head(&request_ref, || {
        let place = placed.map_or_else(|| route_request(proxy, parts), Ok)?;
        let rules = observer.query_rules(&place.upstream);
        let secrets = caller.request_credentials(headers, &place.query, rules);
        Ok(observer.open(place, method, headers, secrets))
    })?;
    let CachedRequest::Again(print) = cached else {
        return Ok(observe_request(&caller.proxy, head, body).await);
    };
    // A copy, as the buffer that it was read into may be a lot larger.
    let body = Bytes::copy_from_slice(body);
    let parsed = observe_request(&caller.proxy, head, &body).await;
    observer.memo.store_request(
        &print,
        &RequestRef { body: &body, ..request_ref },
        Arc::clone(&parsed),
    );
    Ok(parsed)
}

/// Identifies a request and redacts its body, on a blocking thread if that may take long.
async fn observe_request(
    proxy: &Arc<Proxy>,
    head: Arc<ParsedHead>,
    body: &Bytes,
) -> Arc<ParsedRequest> {
    let observe = |proxy: &Proxy, head: &ParsedHead, body: &Bytes| {
        let recorded = proxy.engine.replay_engine().map(|replay| replay.matcher());
        Arc::new(proxy.observer.observe_request(head, body, recorded))
    };
    if !head.has_slow_body(body) && !proxy.observer.may_read_repository(&head, body) {
        return observe(proxy, &head, body);
    }
    let (proxy, body) = (Arc::clone(proxy), body.clone());
    Box::pin(blocking::run_blocking(move || observe(&proxy, &head, &body))).await
}
