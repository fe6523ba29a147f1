//! Hosts and web origins as headers name them, and the rules that allow origins.

use std::net::IpAddr;

/// An invalid value of `--allow-origin`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--allow-origin {text}: give what the browser sends as Origin, such as \
     http://localhost:3000, http://localhost:* for any port, vscode-webview://* for a \
     whole scheme that is not the web's, null, or * for every web page there is"
)]
pub struct InvalidOrigin {
    /// The value.
    text: String,
}

/// A web origin whose pages may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AllowedOrigin {
    /// Every origin.
    Any,
    /// Exactly this origin.
    Exact(String),
    /// All origins that begin with this: a host on any port.
    AnyPort(String),
    /// All origins of a scheme.
    Scheme(String),
}

impl AllowedOrigin {
    pub(super) fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let invalid = || InvalidOrigin { text: text.to_owned() };
        match text {
            "*" => return Ok(Self::Any),
            "null" => return Ok(Self::Exact(text.to_owned())),
            _ => {}
        }
        let lower = text.to_ascii_lowercase();
        let (scheme, rest) = lower.split_once("://").ok_or_else(invalid)?;
        let is_web = matches!(scheme, "http" | "https");
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        if !is_scheme {
            return Err(invalid());
        }
        if rest == "*" && !is_web {
            return Ok(Self::Scheme(format!("{scheme}://")));
        }
        if let Some(host) = rest.strip_suffix(":*") {
            let whole = split_host_port(host)
                .is_some_and(|(_, port)| port.is_none() && !host.ends_with(':'));
            return whole.then(|| Self::AnyPort(format!("{scheme}://{host}"))).ok_or_else(invalid);
        }
        // Browsers write neither the slash nor the default port.
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let usual = if scheme == "http" { ":80" } else { ":443" };
        let rest = if is_web { rest.strip_suffix(usual).unwrap_or(rest) } else { rest };
        let is_host = split_host_port(rest).is_some() || !is_web && rest.is_empty();
        is_host.then(|| Self::Exact(format!("{scheme}://{rest}"))).ok_or_else(invalid)
    }

    pub(super) fn is_any(&self) -> bool {
        *self == Self::Any
    }

    pub(super) fn matches(&self, origin: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(own) => own.eq_ignore_ascii_case(origin),
            Self::Scheme(own) => rest_of(origin, own).is_some(),
            Self::AnyPort(own) => rest_of(origin, own).is_some_and(is_port),
        }
    }
}

/// Returns what follows `start` in a text, ignoring the case of letters.
fn rest_of<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start).then_some(rest)
}

/// Splits `HOST[:PORT]`. Returns `None` if the host is neither a name nor an address. The brackets
/// of an IPv6 address stay.
pub(super) fn split_host_port(text: &str) -> Option<(&str, Option<u16>)> {
    let end = match text.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, port) = text.split_at(end);
    let is_name =
        |host: &str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    if host.is_empty() || !(is_name(host) || host_address(host).is_some()) {
        return None;
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, None)),
        Some("") => Some((host, None)),
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some((host, Some(digits.parse().ok()?)))
        }
        _ => None,
    }
}

/// Returns the address if a host is an address and not a name.
pub(super) fn host_address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse().ok().filter(IpAddr::is_ipv6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

/// Returns the address of a host under which loomrec may be called. The unspecified address is not
/// a destination. An IPv4 address that is written as an IPv6 one (`[::ffff:127.0.0.1]`) leads to
/// this machine just as the plain one does, but browsers send no `Sec-Fetch-Site` to it.
pub(super) fn servable_address(host: &str) -> Option<IpAddr> {
    host_address(host).filter(|ip| !ip.is_unspecified() && ip.to_canonical() == *ip)
}

/// Whether a text is `127.0.0.1` or `localhost`, on any port. Nearly every client calls one of
/// these, and this check does not need to parse the text.
pub(super) fn is_loopback_v4_or_localhost(host: &str) -> bool {
    let rest = host.strip_prefix("127.0.0.1").or_else(|| host.strip_prefix("localhost"));
    rest.is_some_and(|rest| rest.is_empty() || is_port(rest))
}

/// Whether a text is a colon and a port.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| {
        (1..=5).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Whether `host`, an unchanged `Host` header, is the server of a page of this origin.
pub(super) fn is_origin_of(origin: &str, host: &str) -> bool {
    let authority = rest_of(origin, "http://").or_else(|| rest_of(origin, "https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_a_port_or_none() {
        for (text, expected) in [
            ("localhost", Some(("localhost", None))),
            ("loom_rec.test:4141", Some(("loom_rec.test", Some(4141)))),
            ("[::1]:80", Some(("[::1]", Some(80)))),
            ("[::1]", Some(("[::1]", None))),
            ("10.0.0.1:", Some(("10.0.0.1", None))),
            ("", None),
            (":80", None),
            ("::1", None),
            ("a:b", None),
            ("a:99999", None),
            ("a b", None),
            ("u@a", None),
            ("a/b", None),
            ("[evil]", None),
            ("[::1]x", None),
            ("[::1", None),
            ("ä", None),
        ] {
            assert_eq!(split_host_port(text), expected, "{text}");
        }
    }

    #[test]
    fn usual_hosts_are_known_at_a_glance_and_longer_ones_are_not_taken_for_them() {
        for host in ["127.0.0.1", "localhost", "localhost:1", "127.0.0.1:65535"] {
            assert!(is_loopback_v4_or_localhost(host), "{host}");
        }
        for host in ["127.0.0.1.evil.example", "localhost.evil", "localhost:", "localhost:1a", ""] {
            assert!(!is_loopback_v4_or_localhost(host), "{host}");
        }
    }

    #[test]
    fn origins_are_allowed_as_browsers_write_them() {
        let allows = |rule: &str, origin: &str| AllowedOrigin::parse(rule).unwrap().matches(origin);
        for (rule, origin) in [
            ("http://localhost:3000", "http://localhost:3000"),
            ("HTTP://Localhost:3000/", "http://localhost:3000"),
            ("https://a.test:443", "https://a.test"),
            ("http://localhost:*", "http://localhost:5173"),
            ("vscode-webview://*", "vscode-webview://0a1b2c"),
            ("tauri://localhost", "tauri://localhost"),
            ("file://", "file://"),
            ("null", "null"),
            ("*", "null"),
            ("*", "https://evil.example"),
        ] {
            assert!(allows(rule, origin), "{rule} {origin}");
        }
        for (rule, origin) in [
            ("http://localhost:3000", "http://localhost:30001"),
            ("http://localhost:3000", "https://localhost:3000"),
            ("http://localhost:*", "http://localhost"),
            ("http://localhost:*", "http://localhost:1.evil.example"),
            ("http://localhost:*", "http://localhost.evil.example:1"),
            ("vscode-webview://*", "http://vscode-webview://"),
            ("file://", "null"),
        ] {
            assert!(!allows(rule, origin), "{rule} {origin}");
        }
        for wrong in [
            "",
            "localhost",
            "http://",
            "http://*",
            "https://*",
            "http://a/b",
            "http://*.a.test",
            "http://u@a",
            "://a",
            "http://a b",
            "http://:*",
            "1x://a",
            "file://a/b",
        ] {
            assert!(AllowedOrigin::parse(wrong).is_err(), "{wrong}");
        }
    }
}
