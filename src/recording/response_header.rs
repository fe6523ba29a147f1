//! Response headers of a recording: which of them a replay sends.
//!
//! A recording may come from a stranger. What a header tells the client to do beyond
//! reading the answer is not the recording's to say.

use super::redact::HOP_BY_HOP;

/// More headers than this are no answer of a provider. HTTP libraries take about a hundred.
pub const MOST_HEADERS: usize = 1000;

/// Headers that set a cookie. A recorder keeps none; a client with a cookie jar would send it
/// to everything else on this host.
const COOKIE: [&str; 2] = ["set-cookie", "set-cookie2"];

/// Headers that bind the client beyond this answer. They are about the upstream's own host,
/// and a client would take them to be about this one:
///
/// * `alt-svc` sends its next requests, keys included, to another server;
/// * `strict-transport-security` has a browser refuse plain HTTP on all of localhost;
/// * `clear-site-data` has it delete what other programs keep for localhost;
/// * `refresh` has it leave for another page;
/// * `nel`, `report-to` and `reporting-endpoints` have it report to another server.
const BINDING: [&str; 7] = [
    "alt-svc",
    "clear-site-data",
    "nel",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "strict-transport-security",
];

/// What loomrec says of an answer by itself.
const OWN: &str = "x-loomrec-";

/// Whether a header of this name, in lower case, is in no recording that a recorder made: it
/// belongs to the connection, sets a cookie, or is loomrec's own.
pub fn is_never_recorded(name: &str) -> bool {
    HOP_BY_HOP.contains(&name)
        || COOKIE.contains(&name)
        || name == "proxy-authentication-info"
        || name.starts_with(OWN)
}

/// Whether a replay sends a header of this name, in lower case, to its client.
pub fn is_replayed(name: &str) -> bool {
    !is_never_recorded(name) && !BINDING.contains(&name)
}

/// Whether a redirect leads away from the server that sends it: its client would take its
/// next request, often with body and keys, to a host that the recording names.
pub fn leads_away(status: u16, name: &str, value: &str) -> bool {
    if !(300..400).contains(&status) || name != "location" {
        return false;
    }
    // Browsers skip blanks and control characters, and read a backslash as a slash.
    let target: Vec<char> =
        value.chars().filter(|c| !c.is_whitespace() && !c.is_control()).take(2).collect();
    let is_path = match target.as_slice() {
        ['/' | '\\', '/' | '\\'] => false,
        ['/' | '?' | '#' | '.', ..] | [] => true,
        _ => !value.contains(':'),
    };
    !is_path
}

/// Whether bytes can stand in a header's value.
pub fn is_sendable(name: &str, value: &str) -> bool {
    http::HeaderName::from_bytes(name.as_bytes()).is_ok()
        && http::HeaderValue::from_bytes(value.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_about_the_answer_are_replayed_and_those_about_the_client_are_not() {
        for name in
            ["content-type", "retry-after", "x-request-id", "x-should-retry", "www-authenticate"]
        {
            assert!(is_replayed(name), "{name}");
        }
        for name in HOP_BY_HOP.iter().chain(&COOKIE).chain(&BINDING).chain(&["x-loomrec-error"]) {
            assert!(!is_replayed(name), "{name}");
        }
        assert!(!is_never_recorded("strict-transport-security") && !is_never_recorded("alt-svc"));
    }

    #[test]
    fn redirects_stay_here_only_by_a_path() {
        for stays in ["/v1/x", "?a=b", "", "x/y", "./x", "/v1/x?to=https://a"] {
            assert!(!leads_away(307, "location", stays), "{stays}");
        }
        for away in [
            "https://evil.example/",
            "//evil.example",
            "\\\\evil.example",
            "/\\evil.example",
            " https://evil.example",
            "\t//evil.example",
            "/\t/evil.example",
            "javascript:x",
            "HTTP:x",
        ] {
            assert!(leads_away(307, "location", away), "{away}");
        }
        assert!(!leads_away(201, "location", "https://a") && !leads_away(302, "link", "https://a"));
    }

    #[test]
    fn what_could_end_a_header_early_is_not_sendable() {
        for (name, value) in [
            ("a", "b\r\nset-cookie: c"),
            ("a", "b\nc"),
            ("a", "\0"),
            ("a b", "c"),
            ("a:", "c"),
            ("", "c"),
        ] {
            assert!(!is_sendable(name, value), "{name:?} {value:?}");
        }
        assert!(is_sendable("a", "b c") && is_sendable("a", ""));
    }
}
