//! Requests for another protocol than HTTP/1.1. A tunnel and an invalid handshake of a WebSocket are
//! refused. Every other offer is ignored, and the request is answered over HTTP/1.1 (RFC 9110,
//! section 7.8): Java's client offers `h2c` on every plain connection, and Apache's HttpClient 5.4
//! offers `TLS/1.2`.

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, Version, header};

use loomrec_engine::websocket::handshake;

/// What the client of a tunnel gets.
pub(super) const NO_TUNNEL: &str = "loomrec records HTTP calls; a tunnel (CONNECT) is refused rather \
                                    than passed by unrecorded: point the client's base URL here";

/// What the client of a WebSocket gets whose handshake is not valid.
pub(super) const NO_WEBSOCKET: &str = "this is no handshake of RFC 6455, version 13, over HTTP/1.1: correct it, or make this call over \
     HTTP";

/// What the person at the terminal gets for the first such WebSocket of a run.
pub(super) const WEBSOCKET_NOTICE: &str =
    "the program asked for a WebSocket with a handshake that is not one of RFC 6455, and got 426";

/// Whether a request offers a WebSocket with a handshake that is not one of RFC 6455, section 4.1.
pub(super) fn is_refused_websocket(parts: &Parts) -> bool {
    handshake::is_offered(&parts.method, &parts.headers)
        && (parts.version != Version::HTTP_11 || !handshake::is_acceptable(&parts.headers))
}

/// Adds to a response with status 426 the protocol that is accepted instead (RFC 9110, sections
/// 7.8 and 15.5.22). Other responses stay as they are.
pub(super) fn name_protocol<B>(response: &mut Response<B>) {
    if response.status() == StatusCode::UPGRADE_REQUIRED {
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    }
}
