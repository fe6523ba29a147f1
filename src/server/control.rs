//! The control endpoints under `/__loomrec/`: health, journal, mismatches, reset.
//!
//! They answer callers on this machine whose `Host` is one that loomrec serves
//! (a web page must not reach them through a name of its own), or callers that
//! hold the control token.

use std::net::SocketAddr;

use http::{Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use super::Gateway;
use super::respond::{self, AnyBody};
use super::route::is_local;
use super::tally::Tally;

/// Where the control endpoints live.
const PREFIX: &str = "/__loomrec/";

/// Whether a path is one of ours.
pub fn is_control(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers a control request.
pub fn handle<B>(gateway: &Gateway, request: &Request<B>, peer: SocketAddr) -> Response<AnyBody> {
    if let Err(why) = admit(gateway, request, peer) {
        return reply(StatusCode::FORBIDDEN, &json!({ "error": why }));
    }
    let path = request.uri().path().trim_start_matches(PREFIX);
    match (request.method(), path) {
        (&Method::GET, "health") => reply(StatusCode::OK, &health(gateway)),
        (&Method::GET, "journal") => {
            reply(StatusCode::OK, &json!({ "calls": gateway.journal.recent() }))
        }
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
                "GET /__loomrec/health", "GET /__loomrec/journal",
                "GET /__loomrec/mismatches", "POST /__loomrec/reset[?session=NAME]",
            ]}),
        ),
    }
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
        "script_streams": {
            "drained": Tally::read(&gateway.tally.streams_drained),
            "left": Tally::read(&gateway.tally.streams_left),
        },
    })
}

/// Whether the caller may use the control paths.
fn admit<B>(gateway: &Gateway, request: &Request<B>, peer: SocketAddr) -> Result<(), &'static str> {
    let given = request.headers().get("x-loomrec-token").map(header::HeaderValue::as_bytes);
    if let Some(token) = &gateway.config.control_token {
        return match given {
            Some(given) if given == token.as_bytes() => Ok(()),
            _ => Err("the control paths need this run's token in x-loomrec-token"),
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
