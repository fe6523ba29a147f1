//! The control endpoints under `/__loomrec/`: health, journal, metrics, mismatches, reset;
//! and `/metrics`, where scrapers look.
//!
//! They answer callers on this machine whose `Host` is one that loomrec serves
//! (a web page must not reach them through a name of its own), or callers that
//! hold the control token.

use std::net::SocketAddr;

use http::{Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use super::caller::Caller;
use super::journal::follow::{Follower, Wanted};
use super::respond::{self, AnyBody};
use super::route::is_local;
use super::tally::Tally;
use super::{Gateway, log, metric};

/// Where the control endpoints live.
const PREFIX: &str = "/__loomrec/";

/// What stands before a token in `authorization`.
const BEARER: &[u8] = b"bearer ";

/// Where scrapers look for metrics.
const METRICS: &str = "/metrics";

/// Whether a path is one of ours.
pub fn is_control(path: &str) -> bool {
    path.starts_with(PREFIX) || path == METRICS
}

/// Answers a control request.
pub(super) fn handle<B>(caller: &Caller, request: &Request<B>) -> Response<AnyBody> {
    let response = answer(caller, request);
    log::control(response.status().as_u16());
    response
}

fn answer<B>(caller: &Caller, request: &Request<B>) -> Response<AnyBody> {
    let gateway = &*caller.gateway;
    if let Err(why) = admit(gateway, request, caller.peer) {
        return reply(StatusCode::FORBIDDEN, &json!({ "error": why }));
    }
    let path = request.uri().path().trim_start_matches(PREFIX);
    match (request.method(), path) {
        (&Method::GET, "health") => reply(StatusCode::OK, &health(gateway)),
        (&Method::GET, "journal") => journal(caller, request.uri().query().unwrap_or_default()),
        (&Method::GET, "metrics" | METRICS) => metrics(gateway, request),
        (&Method::GET, "mismatches") => {
            let mismatches: Vec<Value> =
                gateway.tally.more().mismatches.iter().map(|error| error.to_json()).collect();
            reply(StatusCode::OK, &json!({ "mismatches": mismatches }))
        }
        (&Method::POST, "reset") => {
            let session = session_of(request);
            if let Some(replayer) = &gateway.replayer {
                replayer.reset(session.as_deref());
            }
            gateway.faults.decider().reset(session.as_deref());
            reply(StatusCode::OK, &json!({ "reset": session.map_or(json!("all"), Value::from) }))
        }
        _ => reply(
            StatusCode::NOT_FOUND,
            &json!({ "error": "no such control endpoint", "endpoints": [
                "GET /__loomrec/health", "GET /__loomrec/journal[?since=SEQ|TIME][&follow=1]",
                "GET /__loomrec/metrics", "GET /metrics",
                "GET /__loomrec/mismatches", "POST /__loomrec/reset[?session=NAME]",
            ]}),
        ),
    }
}

/// The latest calls; with a query, the journal's lines from a place on, and those to come.
fn journal(caller: &Caller, query: &str) -> Response<AnyBody> {
    let gateway = &caller.gateway;
    let wanted = match Wanted::of(query) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            return reply(StatusCode::OK, &json!({ "calls": gateway.journal.recent() }));
        }
        Err(why) => return reply(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    };
    let Some(follower) = Follower::new(gateway, wanted, &caller.connection) else {
        let why = "too many follow the journal already";
        return reply(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": why }));
    };
    let mut response = Response::new(AnyBody::Follow(Box::new(follower)));
    let kind = header::HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// What this run is doing.
fn health(gateway: &Gateway) -> Value {
    let mode = match (&gateway.recorder, &gateway.replayer) {
        (Some(_), Some(_)) => "record new episodes",
        (Some(_), None) => "record",
        (None, _) => "replay",
    };
    json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "mode": mode,
        "served": Tally::read(&gateway.tally.served),
        "recorded": Tally::read(&gateway.tally.recorded),
        "scripted": Tally::read(&gateway.tally.scripted),
        "unscripted": Tally::read(&gateway.tally.unscripted),
        "missed": gateway.tally.missed(),
        "journal": gateway.journal.health(),
        "traces": gateway.spans.health(),
        "script_streams": {
            "drained": Tally::read(&gateway.tally.streams_drained),
            "left": Tally::read(&gateway.tally.streams_left),
        },
    })
}

/// The numbers of this run, in the form that the scraper asks for.
fn metrics<B>(gateway: &Gateway, request: &Request<B>) -> Response<AnyBody> {
    let accepted = request.headers().get_all(header::ACCEPT).iter();
    let open = accepted.filter_map(|value| value.to_str().ok()).any(metric::wants_open_metrics);
    let loaded = gateway.replayer.as_ref().map_or(0, |replayer| replayer.matcher().len());
    let told = metric::Told {
        mode: gateway.mode(),
        loaded: loaded as u64,
        journal_lost: gateway.journal.lost(),
    };
    let text = gateway.metrics.scrape(&gateway.tally, told, open);
    let media = if open { metric::OPEN_METRICS } else { metric::PLAIN };
    respond::full(StatusCode::OK, media, text.into_bytes())
}

/// The token that a caller shows: in our header, or as scrapers can, as a bearer's.
fn token<B>(request: &Request<B>) -> Option<&[u8]> {
    let header = |name| request.headers().get(name).map(header::HeaderValue::as_bytes);
    let bearer = |value: &'_ [u8]| {
        value.len() >= BEARER.len() && value[..BEARER.len()].eq_ignore_ascii_case(BEARER)
    };
    header("x-loomrec-token").or_else(|| {
        let value = header("authorization").filter(|value| bearer(value))?;
        Some(value[BEARER.len()..].trim_ascii())
    })
}

/// Whether the caller may use the control paths.
fn admit<B>(gateway: &Gateway, request: &Request<B>, peer: SocketAddr) -> Result<(), &'static str> {
    if let Some(expected) = &gateway.config.control_token {
        return match token(request) {
            Some(given) if given == expected.as_bytes() => Ok(()),
            _ => {
                Err("the control paths need this run's token in x-loomrec-token, or as a bearer's")
            }
        };
    }
    if !peer.ip().to_canonical().is_loopback() {
        return Err("the control paths answer this machine only; see --control-token");
    }
    let ours = |name: header::HeaderName| {
        // A header that is no text names no host of ours; one that is missing, none at all.
        let mut values = request.headers().get_all(name).iter();
        values.all(|value| value.to_str().is_ok_and(names_this_machine))
    };
    if !ours(header::HOST) {
        return Err("this Host is not one that loomrec serves");
    }
    if !ours(header::ORIGIN) {
        return Err("web pages of another origin may not use the control paths");
    }
    Ok(())
}

/// Whether `[SCHEME://]HOST[:PORT]` is a name of the loopback interface.
fn names_this_machine(text: &str) -> bool {
    let authority = text.split_once("://").map_or(text, |(_, authority)| authority);
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    };
    is_local(name)
}

/// The session named in `?session=`.
fn session_of<B>(request: &Request<B>) -> Option<String> {
    let query = request.uri().query()?;
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "session")
        .map(|(_, value)| value.into_owned())
}

fn reply(status: StatusCode, value: &Value) -> Response<AnyBody> {
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    respond::full(status, "application/json", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_interface_are_ours() {
        for ours in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:4141",
            "[::1]:4141",
            "[::1]",
            "http://localhost:3000",
        ] {
            assert!(names_this_machine(ours), "{ours}");
        }
        for other in [
            "",
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1@evil.example",
            "localhost:evil",
            "https://evil.example",
            "null",
            "10.0.0.1",
        ] {
            assert!(!names_this_machine(other), "{other}");
        }
    }
}
