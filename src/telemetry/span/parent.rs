//! The caller's trace: its `traceparent` and `tracestate` headers, as defined by the W3C's Trace
//! Context.

use http::{HeaderMap, HeaderName};

use loomrec_recording::redact::{CallCredentials, is_clean};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// A longer state is dropped: the standard requires no more to be passed on.
const LONGEST_STATE: usize = 512;

/// The flag bit that says whether the trace is sampled.
const SAMPLED: u8 = 1;

/// The caller's span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentSpan {
    /// The id of its trace. Never 0.
    pub trace: u128,
    /// The id of the span. Never 0.
    pub span: u64,
    /// Whether its trace is sampled.
    pub sampled: bool,
    /// The `tracestate` of the trace. May be empty.
    pub state: Box<str>,
}

impl ParentSpan {
    /// Reads the headers of a request. Returns `None` if there is no valid `traceparent`, or if it
    /// contains a credential of the request.
    pub fn from_headers(headers: &HeaderMap, secrets: &CallCredentials) -> Option<Self> {
        let mut given = headers.get_all(TRACEPARENT).iter();
        // With two of them it is unclear which one is meant.
        let (Some(value), None) = (given.next(), given.next()) else { return None };
        if !is_clean(value.as_bytes(), secrets) {
            return None;
        }
        let mut parent = Self::parse(value.to_str().ok()?.trim())?;
        let state = trace_state(headers).filter(|state| is_clean(state.as_bytes(), secrets));
        parent.state = state.unwrap_or_default();
        Some(parent)
    }

    /// Parses a `traceparent`. In a version that is not known yet, more may follow.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let mut part = |length| parts.next().filter(|part| is_hex(part, length));
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        if version == "ff" || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|&trace| trace != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|&span| span != 0)?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Some(Self { trace, span, sampled: flags & SAMPLED != 0, state: Box::default() })
    }
}

/// Whether a text consists of this many hexadecimal digits in lower case.
fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the `tracestate`. The headers of that name are one list.
fn trace_state(headers: &HeaderMap) -> Option<Box<str>> {
    let mut all = String::new();
    for value in headers.get_all(TRACESTATE) {
        let value = value.to_str().ok()?.trim();
        if !all.is_empty() && !value.is_empty() {
            all.push(',');
        }
        all.push_str(value);
        if all.len() > LONGEST_STATE {
            return None;
        }
    }
    Some(all.into_boxed_str())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn parent_is_read_when_it_is_as_it_should_be() {
        let parent = ParentSpan::parse(GOOD).unwrap();
        assert_eq!(parent.trace, 0x0af7651916cd43dd8448eb211c80319c);
        assert_eq!((parent.span, parent.sampled), (0xb7ad6b7169203331, true));
        assert!(!ParentSpan::parse(&GOOD.replace("-01", "-02")).unwrap().sampled);
        assert!(ParentSpan::parse(&GOOD.replace("-01", "-03")).unwrap().sampled);
        assert!(ParentSpan::parse(&format!("cc{}-what-ever", &GOOD[2..])).is_some());
    }

    #[test]
    fn parent_is_none_when_it_is_malformed() {
        for bad in [
            "",
            "00",
            "hello",
            &GOOD.to_uppercase(),
            &GOOD.replacen("00", "ff", 1),
            &GOOD.replacen("00", "+0", 1),
            &format!("{GOOD}-more"),
            &format!("{GOOD}-"),
            &format!("cc{}0", &GOOD[2..]),
            &GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            &GOOD.replace("b7ad6b7169203331", "b7ad6b716920333"),
            &GOOD.replace('-', "_"),
        ] {
            assert_eq!(ParentSpan::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn state_is_one_list_and_left_out_when_it_is_long() {
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(
            &*ParentSpan::from_headers(&headers, &CallCredentials::default()).unwrap().state,
            ""
        );
        headers.append(TRACESTATE, HeaderValue::from_static("a=1"));
        headers.append(TRACESTATE, HeaderValue::from_static("b=2"));
        assert_eq!(
            &*ParentSpan::from_headers(&headers, &CallCredentials::default()).unwrap().state,
            "a=1,b=2"
        );
        let long = format!("c={}", "x".repeat(LONGEST_STATE));
        headers.append(TRACESTATE, HeaderValue::from_str(&long).unwrap());
        assert_eq!(
            &*ParentSpan::from_headers(&headers, &CallCredentials::default()).unwrap().state,
            ""
        );
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(ParentSpan::from_headers(&headers, &CallCredentials::default()), None);
    }

    #[test]
    fn state_that_holds_a_credential_is_left_out() {
        let secrets = CallCredentials::for_known_provider(
            &[("x-api-key".to_owned(), "canary-key-42".to_owned())],
            "",
        );
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, HeaderValue::from_static(GOOD));
        headers.append(TRACESTATE, HeaderValue::from_static("a=canary-key-42"));
        assert_eq!(&*ParentSpan::from_headers(&headers, &secrets).unwrap().state, "");
        let own = [("x-api-key".to_owned(), "b7ad6b7169203331".to_owned())];
        assert_eq!(
            ParentSpan::from_headers(&headers, &CallCredentials::for_known_provider(&own, "")),
            None
        );
    }

    proptest! {
        #[test]
        fn nothing_that_comes_panics(text in "\\PC*", bytes: Vec<u8>) {
            let _ = ParentSpan::parse(&text);
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                headers.insert(TRACEPARENT, value.clone());
                headers.insert(TRACESTATE, value);
            }
            let _ = ParentSpan::from_headers(&headers, &CallCredentials::default());
        }
    }
}
