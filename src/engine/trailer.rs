//! Trailers: the fields that follow the body of an answer.
//!
//! Over HTTP/1.1 they reach only clients that send `te: trailers`, after a chunked body whose head
//! has named them.

use http::header::{CONNECTION, TE};
use http::{HeaderMap, HeaderValue};

/// Whether a client with these headers takes trailers.
pub(super) fn accepts_trailers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(TE).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("trailers"))
}

/// Has an upstream send trailers.
pub(super) fn ask_for_trailers(headers: &mut HeaderMap) {
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert(CONNECTION, HeaderValue::from_static("te"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_takes_trailers_if_it_says_so() {
        let accepts = |value: &'static str| {
            accepts_trailers(&[(TE, HeaderValue::from_static(value))].into_iter().collect())
        };
        assert!(accepts("trailers") && accepts("gzip, Trailers"));
        assert!(!accepts("gzip") && !accepts("trailersx"));
        assert!(!accepts_trailers(&HeaderMap::new()));
    }
}
