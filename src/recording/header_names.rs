//! The names of request headers that are not stored.
//!
//! A header that does not change an answer is neither stored nor part of a key. Its name is kept
//! with the entry, to show that the header was sent and did not count. Values are never kept.

use super::redact::{CallCredentials, HOP_BY_HOP};
use loomrec_provider::RPC_SESSION_HEADER;

/// At most this many names are kept for a request.
const MOST: usize = 32;
/// A longer name is not kept.
const LONGEST: usize = 64;

/// Headers that HTTP clients and SDKs add by themselves, or that describe the body's bytes. Listing
/// them with every call would tell nothing.
const USUAL: [&str; 9] = [
    "accept-encoding",
    "content-encoding",
    "content-length",
    "date",
    "expect",
    "host",
    "user-agent",
    "x-amz-content-sha256",
    "x-goog-api-client",
];

/// The prefixes of further usual names. They include the headers that loomrec itself reads.
const USUAL_PREFIXES: [&str; 4] = ["amz-sdk-", "sec-fetch-", "x-loomrec-", "x-stainless-"];

/// Names of headers in lower case, sorted and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderNames(String);

/// The text between two names.
const SEPARATOR: &str = ", ";

impl HeaderNames {
    /// Selects the names in `all` that are worth keeping. It omits usual names, names of headers
    /// for one connection, names of headers with credentials, and names that `is_clean` rejects.
    /// `connection` holds the values of the `connection` header, which names further headers for
    /// one connection.
    pub fn select<'a>(
        all: impl IntoIterator<Item = &'a str>,
        connection: &str,
        is_clean: impl Fn(&str) -> bool,
    ) -> Self {
        let hops = |name: &str| connection.split(',').any(|hop| hop.trim() == name);
        let kept = all.into_iter().filter(|name| is_worth_keeping(name) && !hops(name));
        let mut names: Vec<&str> = kept.collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| is_clean(name));
        names.truncate(MOST);
        Self(names.join(SEPARATOR))
    }

    /// Reads the names from the text of an entry. Skips what cannot be a name.
    pub fn parse(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let names = lower.split(',').map(str::trim).filter(|name| is_name(name));
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(MOST);
        Self(names.join(SEPARATOR))
    }

    /// Returns the names as they are written in an entry.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(SEPARATOR).filter(|name| !name.is_empty())
    }

    /// Returns the names that `is_clean` accepts.
    #[must_use]
    pub fn cleaned(&self, is_clean: impl Fn(&str) -> bool) -> Self {
        let kept: Vec<&str> = self.iter().filter(|name| is_clean(name)).collect();
        Self(kept.join(SEPARATOR))
    }
}

/// Whether the name of a header that is not stored is worth keeping. The name is in lower case.
fn is_worth_keeping(name: &str) -> bool {
    !USUAL.contains(&name)
        && !USUAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !HOP_BY_HOP.contains(&name)
        && (!CallCredentials::may_be_in(name) || name == RPC_SESSION_HEADER)
        && is_name(name)
}

/// Whether a text can be the name of a header.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str], connection: &str) -> String {
        HeaderNames::select(all.iter().copied(), connection, |_| true).as_str().to_owned()
    }

    #[test]
    fn names_that_may_matter_are_kept_sorted_and_once() {
        let all = ["x-foo", "host", "x-bar", "x-foo", "accept-language", "idempotency-key"];
        assert_eq!(names(&all, ""), "accept-language, idempotency-key, x-bar, x-foo");
    }

    #[test]
    fn usual_headers_those_of_a_connection_and_those_of_credentials_are_left_out() {
        let all = [
            "user-agent",
            "accept-encoding",
            "content-length",
            "x-stainless-lang",
            "x-loomrec-session",
            "connection",
            "te",
            "x-hop",
            "authorization",
            "cookie",
            "x-api-key",
            "x-my-token",
        ];
        assert_eq!(names(&all, "close, x-hop"), "");
    }

    #[test]
    fn names_are_bounded_and_those_that_are_not_clean_are_left_out() {
        let many: Vec<String> = (0..100).map(|n| format!("x-{n:03}")).collect();
        let kept = HeaderNames::select(many.iter().map(String::as_str), "", |name| name != "x-001");
        assert_eq!((kept.iter().count(), kept.iter().nth(1)), (MOST, Some("x-002")));
        assert_eq!(names(&[&format!("x-{}", "a".repeat(LONGEST))], ""), "");
    }

    #[test]
    fn names_in_an_entry_are_read_as_they_were_written_and_nothing_else() {
        let written = names(&["x-foo", "x-bar"], "");
        assert_eq!(HeaderNames::parse(&written).as_str(), written);
        let planted = HeaderNames::parse("X-Foo,, \u{1b}[31m, x foo,x-a");
        assert_eq!(planted.iter().collect::<Vec<_>>(), ["x-a", "x-foo"]);
        assert!(HeaderNames::parse("").iter().next().is_none());
    }
}
