//! Addresses in answers: which of them are below the address of an upstream.

use super::known_upstream::KnownUpstream;

/// An address that an answer names for a further request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiAddress<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<u16>,
    /// The path with query and fragment.
    path: &'a str,
}

impl<'a> ApiAddress<'a> {
    /// Reads an address; `None` if it is not one of HTTP, or has a user, a password, or a character
    /// that clients read in different ways.
    pub fn parse(text: &'a str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        let (scheme, rest) = text.split_once("://").filter(|_| text.bytes().all(is_plain))?;
        let is_known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let after_host = authority.rfind(']').unwrap_or(0);
        let (host, port) = match authority[after_host..].rfind(':') {
            Some(at) => {
                let (host, port) = authority.split_at(after_host + at);
                (host, Some(port[1..].parse().ok()?))
            }
            None => (authority, None),
        };
        let is_valid = is_known && !host.is_empty() && !authority.contains('@');
        is_valid.then_some(Self { scheme, host, port, path })
    }

    /// Returns scheme, host and port, for messages.
    pub fn origin(&self) -> String {
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}", self.scheme, self.host)
    }

    /// Returns the path, with query and fragment, that follows the address `base` of an upstream;
    /// `None` if it is elsewhere.
    pub fn path_below(&self, base: &str) -> Option<&'a str> {
        let base = ApiAddress::parse(base)?;
        let is_there = base.host.eq_ignore_ascii_case(self.host) && base.port() == self.port();
        is_there.then(|| path_below(base.path, self.path))?
    }

    /// Returns the path that follows the public address of the upstream of this name.
    pub fn path_below_public(&self, upstream: &str) -> Option<&'a str> {
        self.path_below(KnownUpstream::find(upstream)?.base?)
    }

    fn port(&self) -> u16 {
        let usual = if self.scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
        self.port.unwrap_or(usual)
    }
}

/// Returns what follows the path `base` in a path.
fn path_below<'a>(base: &str, path: &'a str) -> Option<&'a str> {
    let base = base.trim_end_matches('/');
    let rest = path.strip_prefix(base)?;
    (rest.is_empty() || rest.starts_with(['/', '?', '#'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_below_a_base_have_a_path_there() {
        for (address, base, path) in [
            ("https://api.x.com/v1/a?b=c#d", "https://api.x.com", Some("/v1/a?b=c#d")),
            ("HTTPS://API.x.com:443/v1", "https://api.x.com/", Some("/v1")),
            ("https://api.x.com", "https://api.x.com/", Some("")),
            ("https://api.x.com?a", "https://api.x.com", Some("?a")),
            ("http://[::1]:80/a", "http://[::1]/", Some("/a")),
            ("http://127.0.0.1:90/p/a", "http://127.0.0.1:90/p", Some("/a")),
            ("http://127.0.0.1:90/pa", "http://127.0.0.1:90/p", None),
            ("http://127.0.0.1:91/p/a", "http://127.0.0.1:90/p", None),
            ("http://api.x.com/v1", "https://api.x.com", None),
            ("https://api.x.com.evil/v1", "https://api.x.com", None),
        ] {
            let found = ApiAddress::parse(address).unwrap().path_below(base);
            assert_eq!(found, path, "{address} {base}");
        }
    }

    #[test]
    fn what_clients_read_in_different_ways_is_no_address() {
        for text in [
            "",
            "/v1/a",
            "//api.x.com/a",
            "https:/api.x.com",
            "https://",
            "https://u:p@api.x.com/a",
            "https://evil.com\\@api.x.com/a",
            "https://api.x.com/a b",
            "https://api.x.com/\u{e9}",
            "https://api.x.com:99999/a",
            "https://api.x.com:/a",
            "ftp://api.x.com/a",
            "javascript:x",
        ] {
            assert_eq!(ApiAddress::parse(text), None, "{text}");
        }
        let origin = ApiAddress::parse("https://a.b:8443/x").map(|address| address.origin());
        assert_eq!(origin.as_deref(), Some("https://a.b:8443"));
    }

    #[test]
    fn public_address_is_that_of_the_upstream_of_the_name() {
        let address = ApiAddress::parse("https://api.anthropic.com/v1/x").unwrap();
        assert_eq!(address.path_below_public("anthropic"), Some("/v1/x"));
        assert_eq!(address.path_below_public("openai"), None);
        assert_eq!(address.path_below_public("azure"), None);
        assert_eq!(address.path_below_public("mine"), None);
    }
}
