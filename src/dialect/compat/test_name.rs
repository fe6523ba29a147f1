//! The test that a request belongs to, as aimock's users name it, and which headers its journal shows.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};

use super::control::CompatRefusal;

/// The name of the header that names the test.
pub const HEADER_NAME: &str = "x-test-id";
/// The header of that name.
const HEADER: HeaderName = HeaderName::from_static(HEADER_NAME);
/// The parameter of the query that names it where the header does not.
const PARAMETER: &str = "testId";
/// The longest name that rates are set for, and the longest value that the journal shows, in bytes.
pub const LONGEST: usize = 1024;
/// The word in place of a value that is not kept.
pub const REDACTED: &str = "[REDACTED]";

/// Returns the test that a call belongs to.
pub fn test_of<'a>(headers: &'a HeaderMap, query: &'a str) -> Option<Cow<'a, str>> {
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
/// If the name is blank or too long. A blank name is a mistake, and would change every test.
pub fn test_of_control<'a>(
    headers: &'a HeaderMap,
    query: &'a str,
) -> Result<Option<Cow<'a, str>>, CompatRefusal> {
    let refused = || CompatRefusal("Invalid 'X-Test-Id': header is present but empty".to_owned());
    if headers.get(HEADER).is_some_and(|value| value.as_bytes().trim_ascii().is_empty()) {
        return Err(refused());
    }
    match test_of(headers, query) {
        Some(name) if name.len() > LONGEST => Err(refused()),
        name => Ok(name),
    }
}

/// Whether the journal shows the value of this header, although a recording does not keep it: it is
/// about chaos or tests.
pub fn is_shown(header: &str) -> bool {
    header.starts_with("x-aimock-") || header == HEADER_NAME || header == "x-request-id"
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
        assert!(test_of_control(&with(" "), "testId=b").is_err());
        assert!(test_of_control(&with(&"x".repeat(1025)), "").is_err());
        assert_eq!(test_of_control(&none, ""), Ok(None));
    }
}
