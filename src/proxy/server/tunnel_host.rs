//! Requests in a tunnel whose end loomrec is: each gets the address of the host that the tunnel was
//! opened for, as if it had come with an absolute target.

use http::header::HOST;
use http::request::Parts;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};

/// The host of a tunnel whose end loomrec is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TunnelHost {
    /// The host in lower case, and its port if that is not 443.
    authority: Authority,
}

impl TunnelHost {
    pub(super) fn new(authority: Authority) -> Self {
        Self { authority }
    }

    /// Returns the name or address for its certificate.
    pub(super) fn host_name(&self) -> &str {
        self.authority.host().trim_matches(['[', ']'])
    }

    /// Returns the beginning of its addresses: `https://HOST`.
    pub(super) fn origin(&self) -> String {
        format!("https://{}", self.authority)
    }

    /// Gives a request the address of this host.
    ///
    /// # Errors
    /// Why a request is refused: it is for another host.
    pub(super) fn set_request_address(&self, parts: &mut Parts) -> Result<(), String> {
        let is_here = |text: &str| self.is_named(text);
        let is_target_here = parts.uri.authority().is_none_or(|target| is_here(target.as_str()));
        let mut hosts = parts.headers.get_all(HOST).iter();
        let first = hosts.next().is_none_or(|host| host.to_str().is_ok_and(is_here));
        if !(is_target_here && first && hosts.next().is_none()) {
            return Err(
                self.refusal_text("is for another host than the tunnel that it came through")
            );
        }
        let mut address = std::mem::take(&mut parts.uri).into_parts();
        (address.scheme, address.authority) = (Some(Scheme::HTTPS), Some(self.authority.clone()));
        let Ok(uri) = Uri::from_parts(address) else {
            return Err(self.refusal_text("has a target without a path"));
        };
        parts.uri = uri;
        if let Ok(host) = HeaderValue::from_str(self.authority.as_str()) {
            parts.headers.insert(HOST, host);
        }
        Ok(())
    }

    /// Whether an authority is this host. One without a port means 443.
    fn is_named(&self, text: &str) -> bool {
        let (own, default) = (self.authority.as_str(), text.strip_suffix(":443").unwrap_or(text));
        default.eq_ignore_ascii_case(own)
    }

    fn refusal_text(&self, what: &str) -> String {
        format!("a request in a tunnel to {} {what}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn placed(host: Option<&str>, target: &str) -> Option<(String, String)> {
        let tunnel = TunnelHost::new("api.example".parse().unwrap());
        let mut request = Request::get(target);
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        tunnel.set_request_address(&mut parts).ok()?;
        let host = parts.headers[HOST].to_str().unwrap().to_owned();
        Some((parts.uri.to_string(), host))
    }

    #[test]
    fn request_has_the_address_of_the_tunnels_host_in_every_spelling() {
        let expected = Some(("https://api.example/v1/x?a=b".to_owned(), "api.example".to_owned()));
        for host in [None, Some("api.example"), Some("API.example:443")] {
            assert_eq!(placed(host, "/v1/x?a=b"), expected, "{host:?}");
        }
        assert_eq!(placed(Some("api.example"), "https://api.example:443/v1/x?a=b"), expected);
    }

    #[test]
    fn request_for_another_host_is_refused() {
        for (host, target) in [
            (Some("other.example"), "/v1/x"),
            (Some("api.example:8443"), "/v1/x"),
            (Some("127.0.0.1"), "/__loomrec/health"),
            (Some("api.example"), "https://other.example/v1/x"),
            (Some(""), "/v1/x"),
        ] {
            assert_eq!(placed(host, target), None, "{target}");
        }
    }
}
