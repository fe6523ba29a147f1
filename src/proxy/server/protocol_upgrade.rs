//! Requests for another protocol than HTTP/1.1: WebSockets, tunnels, and others. loomrec records
//! HTTP calls only, and refuses them.

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// What is said of every refused request but the handshake of a WebSocket.
pub(super) const UNSUPPORTED: &str = "loomrec records HTTP calls; tunnels (CONNECT) and protocol \
                                      upgrades are refused rather than passed by unrecorded: point \
                                      the client's base URL here and use its HTTP transport";

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

/// Whether a request asks for another protocol and cannot do without. A request that only offers
/// HTTP/2 (Java's client does on every plain connection) goes on in HTTP/1.
pub(super) fn must_upgrade(headers: &HeaderMap) -> bool {
    offers(headers).any(|offer| !offer.eq_ignore_ascii_case(b"h2c"))
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
