//! Framing of an upstream's response: whether its head says in exactly one way where the body ends.
//!
//! Programs read a head that says it in two ways differently (RFC 9112 section 6.3). Request and
//! response smuggling is based on that.

use std::fmt;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

/// Why the end of a response's body is uncertain. It is in the extensions of the response, whose
/// body ends in a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmbiguousFraming {
    /// `Content-Length` beside `Transfer-Encoding`.
    LengthAndCoding,
    /// A transfer coding that is not `chunked` alone.
    OtherCoding,
}

impl fmt::Display for AmbiguousFraming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LengthAndCoding => "both Content-Length and Transfer-Encoding",
            Self::OtherCoding => "a Transfer-Encoding other than chunked",
        })
    }
}

/// Checks the framing in a head. If it is ambiguous, removes the length. If the same length is
/// there several times, keeps one.
pub(super) fn settle_length(
    method: &Method,
    status: StatusCode,
    headers: &mut HeaderMap,
) -> Option<AmbiguousFraming> {
    let has_no_body = method == Method::HEAD || matches!(status.as_u16(), 100..=199 | 204 | 304);
    if let Some(coding) = headers.get(TRANSFER_ENCODING).filter(|_| !has_no_body) {
        let alone = headers.get_all(TRANSFER_ENCODING).iter().nth(1).is_none();
        let is_chunked = alone && coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
        let has_length = headers.remove(CONTENT_LENGTH).is_some();
        return match (is_chunked, has_length) {
            (false, _) => Some(AmbiguousFraming::OtherCoding),
            (true, true) => Some(AmbiguousFraming::LengthAndCoding),
            (true, false) => None,
        };
    }
    // The client rejects lengths that differ, and reads `5, 5` as 5.
    let length = headers.get(CONTENT_LENGTH)?;
    if length.as_bytes().contains(&b',') || headers.get_all(CONTENT_LENGTH).iter().nth(1).is_some()
    {
        let first = length.as_bytes().split(|&byte| byte == b',').next().unwrap_or_default();
        if let Ok(first) = HeaderValue::from_bytes(first.trim_ascii()) {
            headers.insert(CONTENT_LENGTH, first);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    /// Returns what is found in a head, and the lengths that are left in it.
    fn settled(
        method: Method,
        status: u16,
        lines: &[(&'static str, &'static str)],
    ) -> (Option<AmbiguousFraming>, Vec<String>) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let found = settle_length(&method, StatusCode::from_u16(status).unwrap(), &mut headers);
        let left = headers.get_all(CONTENT_LENGTH).iter();
        (found, left.map(|value| value.to_str().unwrap().to_owned()).collect())
    }

    const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");
    const FIVE: (&str, &str) = ("content-length", "5");

    #[test]
    fn one_way_to_end_is_left_as_it_is() {
        let post = |lines: &[_]| settled(Method::POST, 200, lines);
        assert_eq!(post(&[]), (None, vec![]));
        assert_eq!(post(&[FIVE]), (None, vec!["5".to_owned()]));
        assert_eq!(post(&[("transfer-encoding", " Chunked ")]), (None, vec![]));
        assert_eq!(post(&[FIVE, FIVE]), (None, vec!["5".to_owned()]));
        assert_eq!(post(&[("content-length", "5 , 5")]), (None, vec!["5".to_owned()]));
    }

    #[test]
    fn two_ways_to_end_are_told_and_no_length_is_left() {
        let post = |lines: &[_]| settled(Method::POST, 200, lines);
        let both = (Some(AmbiguousFraming::LengthAndCoding), vec![]);
        assert_eq!(post(&[FIVE, CHUNKED]), both);
        assert_eq!(post(&[CHUNKED, FIVE, FIVE]), both);
        let other = (Some(AmbiguousFraming::OtherCoding), vec![]);
        assert_eq!(post(&[("transfer-encoding", "gzip, chunked")]), other);
        assert_eq!(post(&[("transfer-encoding", "identity"), FIVE]), other);
        assert_eq!(post(&[CHUNKED, CHUNKED]), other);
    }

    #[test]
    fn answers_without_a_body_may_say_what_they_like() {
        let left = (None, vec!["5".to_owned()]);
        assert_eq!(settled(Method::HEAD, 200, &[FIVE, CHUNKED]), left);
        assert_eq!(settled(Method::POST, 304, &[FIVE, CHUNKED]), left);
        assert_eq!(settled(Method::POST, 204, &[CHUNKED, FIVE]), left);
    }
}
