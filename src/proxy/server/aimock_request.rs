//! What aimock's users say in a request: the test that it belongs to; and the request as its
//! journal keeps it.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};

use loomrec_engine::IncomingCall;
use loomrec_recording::redact::is_clean;
use loomrec_telemetry::journaled_request::JournaledRequest;

/// The header that names the test.
const HEADER: HeaderName = HeaderName::from_static("x-test-id");
/// The parameter of the query that names it where the header does not.
const PARAMETER: &str = "testId";
/// The longest name that rates are set for, in bytes.
const LONGEST: usize = 1024;
/// aimock's word in place of a value that is not kept.
const REDACTED: &str = "[REDACTED]";

/// The name of a test is blank, or longer than [`LONGEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidTestName;

/// Returns the test that a call belongs to.
pub(super) fn test_of<'a>(headers: &'a HeaderMap, query: &'a str) -> Option<Cow<'a, str>> {
    let named = headers.get(HEADER).and_then(|value| value.to_str().ok());
    match named.filter(|name| !name.is_empty()) {
        Some(name) => Some(name.into()),
        None => url::form_urlencoded::parse(query.as_bytes())
            .find(|(name, value)| name == PARAMETER && !value.is_empty())
            .map(|(_, value)| value),
    }
}

/// Returns the test that a control request is about; `None` for the whole run.
///
/// # Errors
/// [`InvalidTestName`]: a blank name is a mistake, and would change every test.
pub(super) fn test_of_control<'a>(
    headers: &'a HeaderMap,
    query: &'a str,
) -> Result<Option<Cow<'a, str>>, InvalidTestName> {
    if headers.get(HEADER).is_some_and(|value| value.as_bytes().trim_ascii().is_empty()) {
        return Err(InvalidTestName);
    }
    match test_of(headers, query) {
        Some(name) if name.len() > LONGEST => Err(InvalidTestName),
        name => Ok(name),
    }
}

/// Returns the request of a call as the journal keeps it: what may be stored, and the headers that
/// are about chaos and tests.
pub(super) fn journaled(call: &IncomingCall) -> Box<JournaledRequest> {
    let request = &call.storable().request;
    let target = match request.query.is_empty() {
        true => request.path.clone(),
        false => format!("{}?{}", request.path, request.query),
    };
    let mut headers = request.headers.clone();
    let is_shown = |name: &str| {
        name.starts_with("x-aimock-") || name == HEADER.as_str() || name == "x-request-id"
    };
    for name in request.other_headers.iter() {
        let value = call.headers.get(name).filter(|value| {
            is_shown(name) && is_clean(value.as_bytes(), call.secrets()) && value.len() <= LONGEST
        });
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or(REDACTED);
        headers.push((name.to_owned(), value.to_owned()));
    }
    let test = test_of(&call.headers, &request.query).filter(|name| name.len() <= LONGEST);
    Box::new(JournaledRequest {
        target,
        headers,
        body: request.body.clone(),
        test: test.map(Cow::into_owned),
        chaos: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_named_by_a_header_or_by_the_query() {
        let with = |value: &str| HeaderMap::from_iter([(HEADER, value.parse().unwrap())]);
        let none = HeaderMap::new();
        assert_eq!(test_of(&with("a"), "testId=b").as_deref(), Some("a"));
        assert_eq!(test_of(&with(""), "x=1&testId=b%20c").as_deref(), Some("b c"));
        assert_eq!(test_of(&none, "nottestId=b&testId="), None);
        assert_eq!(test_of_control(&with(" "), "testId=b"), Err(InvalidTestName));
        assert_eq!(test_of_control(&with(&"x".repeat(1025)), ""), Err(InvalidTestName));
        assert_eq!(test_of_control(&none, ""), Ok(None));
    }
}
