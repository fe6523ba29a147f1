//! Response headers of a recording: which of them a replay sends.
//!
//! A recording may come from a stranger. What a header tells the client to do beyond
//! reading the answer is not the recording's to say.

use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

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

/// Headers that say how long to wait before the next try, and how many of their units an hour
/// has. SDKs wait for what they say.
const WAITS: [(&str, f64); 4] = [
    ("retry-after", 3600.0),
    ("retry-after-ms", 3_600_000.0),
    ("x-ms-retry-after-ms", 3_600_000.0),
    ("x-amz-retry-after", 3_600_000.0),
];

/// A date as HTTP writes it (RFC 9110, 5.6.7).
const HTTP_DATE: StaticFormatDescription = format_description!(
    "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
);

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

/// Whether a header has its client wait for more than an hour from `now` on, or for a time that
/// only some clients can read.
pub fn keeps_waiting(name: &str, value: &str, now: impl FnOnce() -> OffsetDateTime) -> bool {
    let Some((_, hour)) = WAITS.iter().find(|(known, _)| *known == name) else { return false };
    let value = value.trim();
    if let Ok(wait) = value.parse::<f64>() {
        return !(0.0..=*hour).contains(&wait);
    }
    match PrimitiveDateTime::parse(value, HTTP_DATE) {
        Ok(until) => until.assume_utc() - now() > Duration::HOUR,
        Err(_) => true,
    }
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
    fn waits_are_replayed_up_to_an_hour_and_only_as_every_client_reads_them() {
        let now = || time::macros::datetime!(2026-03-01 12:00 UTC);
        let long = |name: &str, value: &str| keeps_waiting(name, value, now);
        for (name, value) in [
            ("retry-after", "0"),
            ("retry-after", "1.5"),
            ("retry-after", " 3600 "),
            ("retry-after", "Sun, 01 Mar 2026 12:59:59 GMT"),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
            ("retry-after-ms", "3600000"),
            ("x-ratelimit-reset", "1e300"),
        ] {
            assert!(!long(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("retry-after", "3601"),
            ("retry-after", "1e9"),
            ("retry-after", "inf"),
            ("retry-after", "nan"),
            ("retry-after", "-1"),
            ("retry-after", ""),
            ("retry-after", "soon"),
            ("retry-after", "99999 s"),
            ("retry-after", "1 Jan 2999 00:00:00 GMT"),
            ("retry-after", "Sun, 01 Mar 2026 13:00:01 GMT"),
            ("retry-after-ms", "3600001"),
            ("retry-after-ms", "1e300"),
            ("x-ms-retry-after-ms", "1e300"),
            ("x-amz-retry-after", "1e300"),
        ] {
            assert!(long(name, value), "{name}: {value}");
        }
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
