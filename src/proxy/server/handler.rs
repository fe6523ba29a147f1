//! The handler of one request: admits it, finds its session, has it read and answered.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};

use super::answer_call::answer_open;
use super::call_refusal::{CallRefusal, refuse_call};
use super::connection_context::ConnectionContext;
use super::fault::AbandonedCall;
use super::read_call::{READ_BEFORE_PLACING, parse_request, read_request, route_request};
use super::respond::{self, OutBody};
use super::response_control::ResponseControl;
use super::session::{self, EntryRefusal};
use super::websocket::ClientHandshake;
use super::{
    Proxy, browser_request, compat_request, control, cors, protocol_upgrade, refused_connection,
    request_body,
};
use loomrec_engine::observe::STEP_HEADER;
use loomrec_provider::Provider;

/// Answers one request.
///
/// # Errors
/// [`AbandonedCall`] if a fault or a script leaves the request without an answer.
pub async fn handle_request(
    caller: &Arc<ConnectionContext>,
    response_control: ResponseControl,
    request: Request<Incoming>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    let (mut parts, body) = request.into_parts();
    if !caller.is_served {
        let response = refused_connection::turn_away(proxy, &parts, body).await;
        return Ok(respond::prepare_response(response, response_control, None));
    }
    let is_here = match find_place(caller, &mut parts) {
        Ok(is_here) => is_here,
        Err(refusal) => return Ok(send_refusal(caller, &parts, refusal, response_control)),
    };
    if is_here {
        session::take_control_prefix(&mut parts);
    }
    let is_control = is_here && control::is_control(proxy, parts.uri.path());
    let session_caller = match &caller.sessions {
        Some(sessions) if is_here => sessions.enter_control(caller, &mut parts).await,
        _ => None,
    };
    if is_control || session_caller.is_some() {
        let caller = session_caller.as_ref().unwrap_or(caller);
        caller.connection.set_own_response(true);
        let request = Request::from_parts(parts, body);
        let response = control::answer_request(caller, request).await;
        return Ok(respond::prepare_response(response, response_control, None));
    }
    caller.connection.set_own_response(false);
    if let Some(name) = &proxy.config.step_header {
        name_step(&mut parts.headers, name);
    }
    let page = match admit_request(proxy, &parts) {
        Ok(page) => page,
        Err(refusal) => return Ok(send_refusal(caller, &parts, refusal, response_control)),
    };
    if let Some(origin) =
        page.as_ref().filter(|_| cors::is_preflight(&parts.method, &parts.headers))
    {
        let response = cors::answer_preflight(origin, &parts.headers);
        return Ok(respond::prepare_response(response, response_control, None));
    }
    if let Some(response) = browser_request::answer_browser(&proxy.routes, &parts) {
        return Ok(respond::prepare_response(response, response_control, None));
    }
    let Some(sessions) = &caller.sessions else {
        return answer_admitted(caller, response_control, (parts, body), page).await;
    };
    match sessions.enter_session(caller, &mut parts).await {
        Ok(caller) => answer_admitted(&caller, response_control, (parts, body), page).await,
        Err(refusal) => {
            read_small(proxy, body).await;
            let refusal = no_session(proxy, &parts, refusal);
            Ok(send_refusal(caller, &parts, refusal, response_control))
        }
    }
}

/// Gives a request in a tunnel the address of its host. Returns whether a request is for loomrec
/// itself, and not for a host whose proxy loomrec is.
fn find_place(caller: &ConnectionContext, parts: &mut Parts) -> Result<bool, CallRefusal> {
    let Some(tunnel) = &caller.tunnel else {
        return Ok(caller.proxy.config.access.is_for_us(parts));
    };
    tunnel.set_request_address(parts).map(|()| false).map_err(|message| CallRefusal {
        provider: Provider::UNKNOWN,
        status: StatusCode::MISDIRECTED_REQUEST,
        kind: "OtherHost",
        message,
    })
}

/// Refuses a request without an engine.
fn send_refusal(
    caller: &Arc<ConnectionContext>,
    parts: &Parts,
    refusal: CallRefusal,
    response_control: ResponseControl,
) -> Response<OutBody> {
    let (open, response) = refuse_call(caller, parts, refusal);
    respond::prepare_response(response, response_control, Some(open))
}

/// Answers a call that was admitted, from a page of this origin if it is from one.
async fn answer_admitted(
    caller: &Arc<ConnectionContext>,
    response_control: ResponseControl,
    (mut parts, body): (Parts, Incoming),
    page: Option<HeaderValue>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let socket = ClientHandshake::read(&mut parts);
    if let Some(socket) = &socket
        && socket.is_of_turns()
        && !has_recorded_handshake(caller, &parts).await
    {
        return Ok(respond::prepare_response(
            socket.accept_turns(caller, &parts, None),
            response_control,
            None,
        ));
    }
    let head = socket.as_ref().and_then(|socket| socket.turn_head(&parts));
    let (open, mut response) = match read_request(caller, &mut parts, body).await {
        Ok((call, mut open)) => {
            if caller.proxy.telemetry.metrics.is_compat() {
                open.record_mut().journaled = Some(compat_request::journaled_request(&call));
            }
            let mut response = answer_open(caller, &response_control, call, &mut open).await?;
            if let Some(socket) = &socket {
                socket.explain_miss(&mut open, &mut response);
            }
            (open, response)
        }
        Err(refusal) => refuse_call(caller, &parts, refusal),
    };
    if let Some(origin) = &page {
        cors::allow_reading(response.headers_mut(), origin);
    }
    let open = match &socket {
        Some(socket) => socket.accept_conversation(caller, head, open, &mut response),
        None => Some(open),
    };
    Ok(respond::prepare_response(response, response_control, open))
}

/// Whether a handshake is answered as it was recorded, or by its upstream, which may refuse it.
async fn has_recorded_handshake(caller: &Arc<ConnectionContext>, parts: &Parts) -> bool {
    let engine = &caller.proxy.engine;
    engine.goes_upstream()
        || match parse_request(caller, parts, &Bytes::new(), None).await {
            Ok(parsed) => engine.recorded_key(&parsed).is_some(),
            Err(_) => true,
        }
}

/// Admits a request, and returns the allowed web origin that it comes from, if any.
fn admit_request(proxy: &Proxy, parts: &Parts) -> Result<Option<HeaderValue>, CallRefusal> {
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
    let provider = || route_request(proxy, parts).map_or(Provider::UNKNOWN, |place| place.provider);
    let admitted = proxy.config.access.admit_request(&parts.uri, &parts.headers);
    let page = admitted.map_err(|denial| CallRefusal {
        provider: provider(),
        status: denial.status,
        kind: denial.kind,
        message: denial.message,
    })?;
    if protocol_upgrade::is_refused_websocket(parts) {
        let (status, message) = (StatusCode::UPGRADE_REQUIRED, protocol_upgrade::NO_WEBSOCKET);
        return Err(unsupported(provider(), status, message));
    }
    Ok(page.cloned())
}

/// Returns the refusal of a call that has no session.
fn no_session(proxy: &Proxy, parts: &Parts, refusal: EntryRefusal) -> CallRefusal {
    let EntryRefusal { status, message } = refusal;
    let provider = route_request(proxy, parts).map_or(Provider::UNKNOWN, |place| place.provider);
    CallRefusal { provider, status, kind: "NoSession", message }
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

/// Reads the body of a request that is refused, if it is not long: a connection whose request was
/// not read to its end cannot be used again.
async fn read_small(proxy: &Proxy, body: Incoming) {
    if body.size_hint().exact().is_some_and(|length| length <= READ_BEFORE_PLACING) {
        let max = proxy.config.max_body;
        // The request is refused whatever its body is.
        drop(request_body::collect_body(body, max, proxy.config.client_timeout).await);
    }
}
