//! Who may use the control paths.
//!
//! Callers on this machine whose `Host` is one that loomrec serves (a web page must not
//! reach them through a name of its own), or callers that hold the control token.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::route::is_local;

/// What stands before a token in `authorization`.
const BEARER: &[u8] = b"bearer ";

/// The door to the control paths of one listener.
#[derive(Clone, Copy, Debug)]
pub(super) struct Door<'a> {
    /// Lets callers in from anywhere.
    pub(super) token: Option<&'a str>,
}

impl Door<'_> {
    /// Whether the caller may use the control paths.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn admit(self, headers: &HeaderMap, peer: SocketAddr) -> Result<(), &'static str> {
        if let Some(expected) = self.token {
            return match token(headers) {
                Some(given) if given == expected.as_bytes() => Ok(()),
                _ => Err(
                    "the control paths need this run's token in x-loomrec-token, or as a bearer's",
                ),
            };
        }
        is_here(peer)?;
        if !ours(headers, &header::HOST) {
            return Err("this Host is not one that loomrec serves");
        }
        if !ours(headers, &header::ORIGIN) {
            return Err("web pages of another origin may not use the control paths");
        }
        Ok(())
    }

    /// Whether the caller may read what the inspector shows: no page of another origin does,
    /// whatever it holds.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn admit_reader(
        self,
        headers: &HeaderMap,
        peer: SocketAddr,
    ) -> Result<(), &'static str> {
        self.admit(headers, peer)?;
        let own = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let same = |origin: &HeaderValue| {
            let origin = origin.to_str().unwrap_or_default();
            names_this_machine(origin) || own.is_some_and(|own| authority(origin) == own)
        };
        match headers.get_all(header::ORIGIN).iter().all(same) {
            true => Ok(()),
            false => Err("web pages of another origin may not use the control paths"),
        }
    }

    /// Whether the caller may have the inspector's page, which holds no data and asks for
    /// the token itself.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn admit_to_page(
        self,
        headers: &HeaderMap,
        peer: SocketAddr,
    ) -> Result<(), &'static str> {
        if self.token.is_none() {
            return self.admit(headers, peer);
        }
        // No name of somebody else's can be made to lead to an address.
        let is_plain = |value: &HeaderValue| {
            value.to_str().is_ok_and(|text| names_this_machine(text) || is_address(text))
        };
        match headers.get_all(header::HOST).iter().all(is_plain) {
            true => Ok(()),
            false => Err("this Host is not one that loomrec serves: use this machine's address"),
        }
    }
}

/// The token that a caller shows: in our header, or as scrapers can, as a bearer's.
fn token(headers: &HeaderMap) -> Option<&[u8]> {
    let header = |name| headers.get(name).map(HeaderValue::as_bytes);
    let bearer = |value: &'_ [u8]| {
        value.len() >= BEARER.len() && value[..BEARER.len()].eq_ignore_ascii_case(BEARER)
    };
    header("x-loomrec-token").or_else(|| {
        let value = header("authorization").filter(|value| bearer(value))?;
        Some(value[BEARER.len()..].trim_ascii())
    })
}

fn is_here(peer: SocketAddr) -> Result<(), &'static str> {
    match peer.ip().to_canonical().is_loopback() {
        true => Ok(()),
        false => Err("the control paths answer this machine only; see --control-token"),
    }
}

/// Whether a header names this machine only. One that is no text names no host of ours; one
/// that is missing, none at all.
fn ours(headers: &HeaderMap, name: &HeaderName) -> bool {
    let mut values = headers.get_all(name).iter();
    values.all(|value| value.to_str().is_ok_and(names_this_machine))
}

/// What stands behind the scheme.
fn authority(text: &str) -> &str {
    text.split_once("://").map_or(text, |(_, authority)| authority)
}

/// `[SCHEME://]HOST[:PORT]` without the port.
fn host(text: &str) -> &str {
    let authority = authority(text);
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    }
}

/// Whether `[SCHEME://]HOST[:PORT]` is a name of the loopback interface.
fn names_this_machine(text: &str) -> bool {
    is_local(host(text))
}

/// Whether it is an address and no name.
fn is_address(text: &str) -> bool {
    host(text).trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_interface_are_ours() {
        for ours in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:4141",
            "[::1]:4141",
            "[::1]",
            "http://localhost:3000",
        ] {
            assert!(names_this_machine(ours), "{ours}");
        }
        for other in [
            "",
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1@evil.example",
            "localhost:evil",
            "https://evil.example",
            "null",
            "10.0.0.1",
        ] {
            assert!(!names_this_machine(other), "{other}");
        }
    }

    #[test]
    fn with_a_token_the_page_is_given_under_an_address_and_under_no_name_of_others() {
        let given = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            let peer = "10.0.0.9:1".parse().unwrap();
            Door { token: Some("t") }.admit_to_page(&headers, peer).is_ok()
        };
        assert!(given("10.0.0.1:4141") && given("[fe80::1]:4141") && given("localhost:4141"));
        assert!(!given("evil.example:4141") && !given("127.0.0.1.evil.example"));
    }

    #[test]
    fn a_page_of_another_origin_reads_nothing_whatever_it_holds() {
        let read = |origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("10.0.0.1:4141"));
            headers.insert("x-loomrec-token", HeaderValue::from_static("t"));
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            Door { token: Some("t") }.admit_reader(&headers, "10.0.0.9:1".parse().unwrap()).is_ok()
        };
        assert!(read("http://10.0.0.1:4141") && read("http://localhost:4141"));
        assert!(!read("https://evil.example") && !read("null") && !read("http://10.0.0.1:80"));
    }
}
