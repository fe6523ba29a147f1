//! The handshake of a WebSocket (RFC 6455, section 4).

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The protocol that a handshake offers.
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
/// The version of RFC 6455.
const VERSION: HeaderValue = HeaderValue::from_static("13");

/// Whether a request offers a WebSocket: a GET with the upgrade.
pub fn is_offered(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && has_word(headers, header::UPGRADE, "websocket")
}

/// Whether an offer can be accepted: it has the version, a key of 16 bytes, and names its upgrade as
/// an option of the connection.
pub fn is_acceptable(headers: &HeaderMap) -> bool {
    let key = headers.get(header::SEC_WEBSOCKET_KEY).map_or(&[][..], HeaderValue::as_bytes);
    has_word(headers, header::CONNECTION, "upgrade")
        && headers.get(header::SEC_WEBSOCKET_VERSION) == Some(&VERSION)
        && key.len() == 24
}

/// Returns the subprotocols that a request offers, in one value; `None` if it offers no protocol.
pub fn joined_protocols(headers: &HeaderMap) -> Option<HeaderValue> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let values: Vec<&[u8]> = values.map(HeaderValue::as_bytes).collect();
    if values.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(&values.join(&b", "[..])).ok()
}

/// Adds an offer to the headers of a request. The key is a new one, and no extension is offered: the
/// messages are read, so the two connections have nothing to agree on but the subprotocol.
pub(crate) fn add_offer(headers: &mut HeaderMap) {
    headers.remove(header::SEC_WEBSOCKET_EXTENSIONS);
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, WEBSOCKET);
    headers.insert(header::SEC_WEBSOCKET_VERSION, VERSION);
    if let Ok(key) = HeaderValue::from_str(&generate_key()) {
        headers.insert(header::SEC_WEBSOCKET_KEY, key);
    }
}

/// Returns the proof that an upstream has to give that it has read the offer in these headers.
pub(crate) fn expected_proof(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_offer = headers.get(header::UPGRADE) == Some(&WEBSOCKET);
    proof_of_key(headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_offer)?)
}

/// Removes from the head of a response what concerns one connection only.
pub(crate) fn remove_proof(headers: &mut HeaderMap) {
    headers.remove(header::SEC_WEBSOCKET_ACCEPT);
    headers.remove(header::SEC_WEBSOCKET_EXTENSIONS);
}

/// Makes the head of a response accept the offer whose key this is.
pub fn accept_offer(headers: &mut HeaderMap, key: &HeaderValue) {
    remove_proof(headers);
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, WEBSOCKET);
    headers.extend(proof_of_key(key).map(|proof| (header::SEC_WEBSOCKET_ACCEPT, proof)));
}

fn proof_of_key(key: &HeaderValue) -> Option<HeaderValue> {
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()
}

/// Whether a header's list holds this word.
fn has_word(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    let mut words = values.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    words.any(|held| held.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered() -> HeaderMap {
        let mut headers = HeaderMap::new();
        add_offer(&mut headers);
        headers
    }

    #[test]
    fn offer_is_acceptable_and_has_the_proof_of_the_standard() {
        let mut headers = offered();
        assert!(is_offered(&Method::GET, &headers) && is_acceptable(&headers));
        assert!(!is_offered(&Method::POST, &headers));
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        headers.insert(header::SEC_WEBSOCKET_KEY, key);
        assert_eq!(expected_proof(&headers).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for (name, value) in [
            (header::SEC_WEBSOCKET_VERSION, "8"),
            (header::SEC_WEBSOCKET_KEY, "short"),
            (header::CONNECTION, "keep-alive"),
        ] {
            let mut other = offered();
            other.insert(name, HeaderValue::from_static(value));
            assert!(!is_acceptable(&other), "{value}");
        }
    }
}
