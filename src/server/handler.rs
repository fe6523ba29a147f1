//! One request, from its head to its response: read, placed, observed, answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::asked::{Asked, note, shape_of};
use super::live;
use super::observe::{Seen, arrival, observe, timestamp};
use super::respond::{self, AnyBody};
use super::tally::Tally;
use super::{Gateway, Notice, OnMiss, control};
use crate::provider::Provider;
use crate::record::capture::header_list;
use crate::recording::observed::Observed;
use crate::recording::redact::Secrets;
use crate::replay::{Miss, RecordingMismatchError, Replayer};

/// Answers one request.
pub async fn handle(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    peer: SocketAddr,
) -> Response<AnyBody> {
    if control::is_control(request.uri().path()) {
        return control::handle(gateway, &request, peer);
    }
    let (mut parts, body) = request.into_parts();
    match read(gateway, &mut parts, body).await {
        Ok(asked) => answer(gateway, asked).await,
        Err(refusal) => refuse(gateway, &parts, &refusal),
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
fn refuse(gateway: &Gateway, parts: &Parts, refusal: &Refusal) -> Response<AnyBody> {
    let secrets = Secrets::of(&header_list(&parts.headers), parts.uri.query().unwrap_or_default());
    let message = gateway.redactor.redact_text(&refusal.message, &secrets);
    Tally::count(&gateway.tally.refused);
    (gateway.notify)(Notice::Refused(&message));
    respond::error(refusal.provider, refusal.status, refusal.kind, &message)
}

/// Reads and places a request, or says why that cannot be. The head is taken out
/// of `parts` only where it can.
async fn read(gateway: &Gateway, parts: &mut Parts, body: Incoming) -> Result<Asked, Refusal> {
    let refusal =
        |provider, status, kind, message: String| Refusal { provider, status, kind, message };
    if parts.method == Method::CONNECT || must_upgrade(&parts.headers) {
        let message = "loomrec records HTTP calls; tunnels (CONNECT) and protocol upgrades \
                       (WebSocket) are refused rather than passed by unrecorded: point the \
                       client's base URL here and use its HTTP transport";
        let status = StatusCode::NOT_IMPLEMENTED;
        return Err(refusal(Provider::Unknown, status, "UnsupportedTransport", message.to_owned()));
    }
    let place =
        gateway.routes.place(&parts.method, &parts.uri, &parts.headers).map_err(|error| {
            let message = format!("failed to {error}");
            refusal(Provider::Unknown, StatusCode::NOT_FOUND, "UnknownUpstream", message)
        })?;
    let max = gateway.config.max_body;
    let body = match respond::collect(body, max).await {
        Ok(Some(body)) => body,
        Ok(None) => {
            let message =
                format!("the request's body is over the limit of {max} bytes; see --max-body");
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Err(refusal(place.provider, status, "RequestTooLarge", message));
        }
        Err(_) => {
            let message = "the request's body ended before its announced length".to_owned();
            let status = StatusCode::BAD_REQUEST;
            return Err(refusal(place.provider, status, "IncompleteRequest", message));
        }
    };
    Ok(Asked {
        place,
        method: parts.method.clone(),
        headers: std::mem::take(&mut parts.headers),
        body,
        arrived: Instant::now(),
        recorded_at: timestamp(arrival(&gateway.clock)),
    })
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
async fn answer(gateway: &Arc<Gateway>, asked: Asked) -> Response<AnyBody> {
    let seen = observe(&asked.place, &asked.method, &asked.headers, &asked.body, &gateway.redactor);
    let Some(replayer) = &gateway.replayer else { return live::record(gateway, asked, seen).await };
    match replay(gateway, replayer, &asked, &seen).await {
        Ok(response) => response,
        Err(_) if gateway.recorder.is_some() => live::record(gateway, asked, seen).await,
        Err(miss) => missed(gateway, replayer, asked, &seen, miss).await,
    }
}

/// The recorded answer, held back until its first byte is due.
async fn replay(
    gateway: &Gateway,
    replayer: &Replayer,
    asked: &Asked,
    seen: &Seen,
) -> Result<Response<AnyBody>, Miss> {
    let accepted = asked.headers.get("accept-encoding").and_then(|value| value.to_str().ok());
    let find = |observed: &Observed| replayer.answer(observed, accepted, asked.arrived.into());
    // A body that holds the caller's own key was recorded without it, and a miss
    // is explained without it.
    let answered = match (find(&seen.observed), &seen.scrubbed) {
        (Err(_), Some(scrubbed)) => find(scrubbed),
        (found, _) => found,
    }?;
    gateway.tally.serve(answered.usage, answered.cost_usd);
    if let Some(due) = answered.response.body().first_due() {
        tokio::time::sleep_until(due).await;
    }
    let response = answered.response.map(AnyBody::Replay);
    let entry = response.headers().get("x-loomrec-entry").and_then(|value| value.to_str().ok());
    let more = json!({ "entry": entry });
    note(gateway, asked, seen.storable(), "served", response.status(), more);
    Ok(response)
}

/// What a call without a recorded answer gets.
async fn missed(
    gateway: &Arc<Gateway>,
    replayer: &Replayer,
    asked: Asked,
    seen: &Seen,
    miss: Miss,
) -> Response<AnyBody> {
    let observed = seen.storable();
    if let OnMiss::Forward(client) = &gateway.on_miss {
        return live::pass(gateway, client, asked, seen).await;
    }
    if matches!(gateway.on_miss, OnMiss::Default)
        && let Ok(response) = replayer.placeholder(observed, asked.arrived.into())
    {
        Tally::count(&gateway.tally.defaulted);
        note(gateway, &asked, observed, "default", response.status(), Value::Null);
        return response.map(AnyBody::Replay);
    }
    let error = explain(gateway, replayer, miss, observed).await;
    let shape = shape_of(observed, asked.place.provider);
    let response = respond::mismatch(shape, &error);
    note(gateway, &asked, observed, "missed", response.status(), error.to_json());
    (gateway.notify)(Notice::Missed(&error));
    gateway.tally.miss(error);
    response
}

/// Has a miss explained on a thread that may wait for files.
async fn explain(
    gateway: &Arc<Gateway>,
    replayer: &Replayer,
    miss: Miss,
    observed: &Observed,
) -> RecordingMismatchError {
    let _turn = replayer.turn().await;
    let brief = replayer.describe(&miss, observed);
    let (gateway, observed) = (Arc::clone(gateway), observed.clone());
    let explained = tokio::task::spawn_blocking(move || {
        Some(gateway.replayer.as_ref()?.explain(&miss, &observed))
    });
    explained.await.ok().flatten().unwrap_or(brief)
}
