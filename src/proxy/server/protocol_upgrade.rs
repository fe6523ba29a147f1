//! Requests for another protocol than HTTP/1.1. The handshake of a WebSocket and a tunnel are refused,
//! since only calls over HTTP are recorded. Every other offer is ignored, and the request is answered
//! over HTTP/1.1 (RFC 9110, section 7.8): Java's client offers `h2c` on every plain connection, and
//! Apache's HttpClient 5.4 offers `TLS/1.2`.

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// What the client of a tunnel gets.
pub(super) const NO_TUNNEL: &str = "loomrec records HTTP calls; a tunnel (CONNECT) is refused rather \
                                    than passed by unrecorded: point the client's base URL here";

/// What the client of a WebSocket gets.
pub(super) const NO_WEBSOCKET: &str =
    "loomrec records calls over HTTP and opens no WebSocket: make this call over HTTP";

/// What the person at the terminal gets for the first WebSocket of a run.
pub(super) const WEBSOCKET_NOTICE: &str =
    "the program asked for a WebSocket and got 426: only calls over HTTP are recorded and replayed";

/// Whether a request is the handshake of a WebSocket (RFC 6455, section 4.1): a GET that offers it.
pub(super) fn is_websocket(parts: &Parts) -> bool {
    let is_offered = |offer: &[u8]| offer.eq_ignore_ascii_case(b"websocket");
    parts.method == Method::GET && offers(&parts.headers).any(is_offered)
}

/// Returns the protocols that a request offers.
fn offers(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(header::UPGRADE).into_iter();
    values.flat_map(|value| value.as_bytes().split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
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
