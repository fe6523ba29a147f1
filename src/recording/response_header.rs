//! Response headers of a recording that a replay sends.
//!
//! A recording may come from a stranger. It must not tell the client to do anything beyond reading
//! the answer.

use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

use super::header_text::header_bytes;
use super::redact::HOP_BY_HOP;

/// No provider's answer has more headers than this. HTTP libraries accept about a hundred.
pub const MOST_HEADERS: usize = 1000;

/// Headers that set a cookie. A recorder stores none. A client with a cookie jar would send the
/// cookie to every other service on this host.
const COOKIE: [&str; 2] = ["set-cookie", "set-cookie2"];

/// Headers with an effect on the client beyond this answer. They are about the upstream's host, but
/// the client would apply them to the host of the replay:
///
/// * `alt-svc` redirects the client's next requests, with their keys, to another server;
/// * `strict-transport-security` makes a browser refuse plain HTTP on all of localhost;
/// * `clear-site-data` makes it delete what other programs store for localhost;
/// * `refresh` makes it open another page;
/// * `nel`, `report-to` and `reporting-endpoints` make it send reports to another server;
/// * `service-worker-allowed` lets a page's worker answer for more of localhost;
/// * `speculation-rules` makes it load other pages;
/// * `accept-ch`, `critical-ch`, `expect-ct` and `public-key-pins` change its later requests;
/// * `timing-allow-origin` lets other pages measure it.
const BINDING: [&str; 14] = [
    "accept-ch",
    "alt-svc",
    "clear-site-data",
    "critical-ch",
    "expect-ct",
    "nel",
    "public-key-pins",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "speculation-rules",
    "strict-transport-security",
    "timing-allow-origin",
];

/// The prefix of the headers that let web pages read an answer. Which pages may read a replayed
/// one is for its user to say, not for the upstream or the recording.
const READING: &str = "access-control-";

/// Headers with an address that clients send their next request to, often with body and keys:
/// of redirects and created resources, of operations that go on (Azure), of uploads (Google).
pub const ADDRESSES: [&str; 6] = [
    "azure-asyncoperation",
    "content-location",
    "location",
    "operation-location",
    "x-goog-upload-control-url",
    "x-goog-upload-url",
];

/// Headers with the time to wait before the next attempt, each with an hour in its unit. SDKs wait
/// for as long as they say.
const WAITS: [(&str, f64); 4] = [
    ("retry-after", 3600.0),
    ("retry-after-ms", 3_600_000.0),
    ("x-ms-retry-after-ms", 3_600_000.0),
    ("x-amz-retry-after", 3_600_000.0),
];

/// The HTTP date format (RFC 9110, 5.6.7).
const HTTP_DATE: StaticFormatDescription = format_description!(
    "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
);

/// The prefix of the headers that loomrec itself adds to an answer.
const OWN: &str = "x-loomrec-";

/// Whether no recorder stores a header with this name (in lower case): it belongs to the
/// connection, sets a cookie, or is loomrec's own.
pub fn is_never_recorded(name: &str) -> bool {
    HOP_BY_HOP.contains(&name)
        || COOKIE.contains(&name)
        || name == "proxy-authentication-info"
        || name.starts_with(OWN)
}

/// Whether a replay sends a header with this name (in lower case) to its client.
pub fn is_replayed(name: &str) -> bool {
    !is_never_recorded(name) && !BINDING.contains(&name) && !name.starts_with(READING)
}

/// Whether a header (its name in lower case) leads to another server, whatever the status of the
/// answer. The client would send its next request to a host that the recording chose.
pub fn leads_away(name: &str, value: &str) -> bool {
    if !ADDRESSES.contains(&name) {
        return false;
    }
    // Browsers skip white space and control characters, and read a backslash as a slash.
    let target: Vec<char> =
        value.chars().filter(|c| !c.is_whitespace() && !c.is_control()).take(2).collect();
    let is_path = match target.as_slice() {
        ['/' | '\\', '/' | '\\'] => false,
        ['/' | '?' | '#' | '.', ..] | [] => true,
        _ => !value.contains(':'),
    };
    !is_path
}

/// Whether a header makes the client wait for more than an hour from `now`, or has a time that only
/// some clients can read.
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

/// Returns the headers that make a client wait a number of seconds or milliseconds, with that number
/// divided by `speed`, rounded down: some clients read whole numbers only.
pub fn divided_waits(headers: &http::HeaderMap, speed: f64) -> Vec<(&'static str, String)> {
    let divided = |(name, _): &(&'static str, f64)| {
        let wait: f64 = headers.get(*name)?.to_str().ok()?.trim().parse().ok()?;
        Some((*name, format!("{:.0}", (wait / speed).floor())))
    };
    WAITS.iter().filter_map(divided).collect()
}

/// Whether the name and the value can be sent as a header.
pub fn is_sendable(name: &str, value: &str) -> bool {
    http::HeaderName::from_bytes(name.as_bytes()).is_ok()
        && http::HeaderValue::from_bytes(&header_bytes(value)).is_ok()
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
        let others = ["x-loomrec-error", "access-control-allow-origin", "access-control-max-age"];
        for name in HOP_BY_HOP.iter().chain(&COOKIE).chain(&BINDING).chain(&others) {
            assert!(!is_replayed(name), "{name}");
        }
        assert!(!is_never_recorded("strict-transport-security") && !is_never_recorded("alt-svc"));
    }

    #[test]
    fn addresses_stay_here_only_by_a_path() {
        for stays in ["/v1/x", "?a=b", "", "x/y", "./x", "/v1/x?to=https://a"] {
            assert!(!leads_away("location", stays), "{stays}");
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
            assert!(leads_away("location", away), "{away}");
            assert!(leads_away("operation-location", away), "{away}");
        }
        assert!(!leads_away("link", "https://a"));
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
