//! The proxies that the environment names: which requests go through one, and how.

use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::socket_address::uri_path;

/// `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, also in lower case, as they were when
/// the client was made.
#[derive(Debug)]
pub(super) struct ProxySettings(Matcher);

/// The route to an address.
#[derive(Debug)]
pub(super) enum ProxyRoute {
    /// Directly to the address.
    Direct,
    /// The request is sent to the proxy, with its absolute address.
    Forward(Intercept),
    /// The proxy connects to the address.
    Tunnel(Intercept),
    /// The same through SOCKS 5.
    Socks(Intercept),
}

impl ProxySettings {
    /// Reads the environment, as reqwest does.
    pub(super) fn from_environment() -> Self {
        Self(Matcher::from_system())
    }

    /// Returns the route to `uri`. An address on this machine is always reached directly.
    pub(super) fn route_to(&self, uri: &Uri) -> ProxyRoute {
        if is_local(uri) {
            return ProxyRoute::Direct;
        }
        let Some(proxy) = self.0.intercept(uri) else { return ProxyRoute::Direct };
        match (proxy.uri().scheme_str(), uri.scheme_str()) {
            (Some("http" | "https"), Some("http")) => ProxyRoute::Forward(proxy),
            (Some("http" | "https"), _) => ProxyRoute::Tunnel(proxy),
            _ => ProxyRoute::Socks(proxy),
        }
    }

    /// Whether `uri` is reached without a proxy that connects to it.
    pub(super) fn is_direct(&self, uri: &Uri) -> bool {
        matches!(self.route_to(uri), ProxyRoute::Direct | ProxyRoute::Forward(_))
    }

    /// Returns the authorization that a request to `uri` needs if it is sent to a proxy.
    pub(super) fn proxy_authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        match self.route_to(uri) {
            ProxyRoute::Forward(proxy) => proxy.basic_auth().cloned(),
            _ => None,
        }
    }
}

/// Whether an address is on this machine.
fn is_local(uri: &Uri) -> bool {
    if uri_path(uri).is_some() {
        return true;
    }
    let host = uri.host().unwrap_or_default();
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(proxy: &str, uri: &str) -> String {
        let settings = ProxySettings(Matcher::builder().all(proxy).no("10.0.0.0/8,.own").build());
        let uri = uri.parse().unwrap();
        let said =
            settings.proxy_authorization(&uri).map(|value| value.to_str().unwrap().to_owned());
        let (way, proxy) = match settings.route_to(&uri) {
            ProxyRoute::Direct => return "direct".to_owned(),
            ProxyRoute::Forward(proxy) => ("forward", proxy),
            ProxyRoute::Tunnel(proxy) => ("tunnel", proxy),
            ProxyRoute::Socks(proxy) => ("socks", proxy),
        };
        format!("{way} {} {}", proxy.uri(), said.unwrap_or_default())
    }

    #[test]
    fn the_scheme_decides_how_a_proxy_is_used() {
        for (proxy, uri, expected) in [
            ("http://u:p@p:1", "http://a/x", "forward http://p:1/ Basic dTpw"),
            ("p:1", "https://a/x", "tunnel http://p:1/ "),
            ("https://u:p@p", "https://a", "tunnel https://p/ "),
            ("socks5h://p:1", "http://a", "socks socks5h://p:1/ "),
            ("", "https://a", "direct"),
        ] {
            assert_eq!(route(proxy, uri), expected);
        }
    }

    #[test]
    fn no_proxy_is_asked_for_this_machine_and_for_what_is_left_out() {
        for host in ["127.0.0.1", "127.9.9.9:80", "[::1]:1", "localhost:8", "a.localhost"] {
            assert_eq!(route("p:1", &format!("http://{host}/")), "direct", "{host}");
        }
        for host in ["10.1.2.3", "a.own", "own"] {
            assert_eq!(route("p:1", &format!("https://{host}/")), "direct", "{host}");
        }
        assert!(route("p:1", "http://notlocalhost/").starts_with("forward"));
    }
}
