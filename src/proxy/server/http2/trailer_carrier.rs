//! Trailers on their way through a pipe. HTTP/1.1 sends only those that the head of the answer names,
//! and their names may be known only at its end. So they go in one field, which the head names.

use http::header::{CONTENT_LENGTH, TRAILER};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

/// The field that holds them.
const CARRIER: HeaderName = HeaderName::from_static("piped-trailers");

/// What is encoded in values, beside bytes that are no ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%').add(b',');

/// Names the field in the head of an answer that may have trailers.
pub(in crate::server) fn announce_carrier(headers: &mut HeaderMap) {
    if !headers.contains_key(CONTENT_LENGTH) {
        headers.insert(TRAILER, HeaderValue::from(CARRIER));
    }
}

/// Removes the name of the field from the head of an answer.
pub(super) fn remove_carrier(headers: &mut HeaderMap) {
    if headers.get(TRAILER).is_some_and(|value| value == CARRIER.as_str()) {
        headers.remove(TRAILER);
    }
}

/// Returns the field that holds these trailers.
pub(in crate::server) fn pack_trailers(trailers: &HeaderMap) -> HeaderMap {
    let part = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}:{}", percent_encode(value.as_bytes(), ENCODED))
    };
    let parts: Vec<String> = trailers.iter().map(part).collect();
    let packed = HeaderValue::from_str(&parts.join(","));
    packed.ok().map(|value| (CARRIER, value)).into_iter().collect()
}

/// Returns the trailers that the field holds.
pub(super) fn unpack_trailers(fields: &HeaderMap) -> HeaderMap {
    let packed = fields.get(CARRIER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let trailer = |part: &str| {
        let (name, value) = part.split_once(':')?;
        let value: Vec<u8> = percent_decode_str(value).collect();
        Some((name.parse().ok()?, HeaderValue::from_bytes(&value).ok()?))
    };
    let mut trailers = HeaderMap::new();
    for (name, value) in packed.split(',').filter_map(trailer) {
        let _: bool = trailers.append::<HeaderName>(name, value);
    }
    trailers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_of_any_value_come_out_as_they_went_in() {
        let mut trailers = HeaderMap::new();
        for (name, value) in [
            ("grpc-status", &b"0"[..]),
            ("grpc-message", b"50%25, a:b"),
            ("x-same", b""),
            ("x-same", b" \xff\t,%"),
        ] {
            trailers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        assert_eq!(unpack_trailers(&pack_trailers(&trailers)), trailers);
        assert!(unpack_trailers(&HeaderMap::new()).is_empty());
    }

    #[test]
    fn field_is_named_only_where_the_end_decides() {
        let mut headers = HeaderMap::new();
        announce_carrier(&mut headers);
        assert_eq!(headers[TRAILER], "piped-trailers");
        remove_carrier(&mut headers);
        assert!(headers.is_empty());
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("3"));
        announce_carrier(&mut headers);
        assert_eq!(headers.len(), 1);
    }
}
