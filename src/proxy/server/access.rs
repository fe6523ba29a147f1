//! Access to the data plane: the hosts that loomrec serves, and the web pages that may call.
//!
//! A browser lets any page send requests to this machine. Three headers that a page cannot forge
//! reveal such a request: `Origin`; `Sec-Fetch-Site`, if there is no `Origin`; and `Host`, if the
//! page's own name resolves to this machine (DNS rebinding).

use std::net::SocketAddr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use super::authority::{self, AllowedOrigin, InvalidOrigin};

/// Sent by browsers: how the page that makes a request relates to this server.
pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// At most this many characters of a header's value are quoted in a message.
const QUOTED: usize = 200;

/// Access policy: which web pages may call loomrec, and under which host names it is called.
#[derive(Clone, Debug, Default)]
pub struct AccessPolicy {
    /// The names of hosts under which clients may call, on any port, besides addresses and
    /// `localhost`.
    hosts: Vec<String>,
    origins: Vec<AllowedOrigin>,
    listener: Option<SocketAddr>,
    /// Whether the listener speaks TLS.
    is_https: bool,
}

/// Why a request is refused before it is read.
#[derive(Debug)]
pub(super) struct AccessDenial {
    pub(super) status: StatusCode,
    /// The value of `x-loomrec-error`.
    pub(super) kind: &'static str,
    pub(super) message: String,
}

impl AccessPolicy {
    /// Returns the policy that serves these hosts, and the pages of the values of `--allow-origin`
    /// that are not empty.
    ///
    /// # Errors
    /// Fails with a value that is not a valid origin.
    pub fn from_flags(hosts: Vec<String>, origins: &[String]) -> Result<Self, InvalidOrigin> {
        let origins = origins.iter().filter(|origin| !origin.is_empty());
        let origins = origins.map(|text| AllowedOrigin::parse(text)).collect::<Result<_, _>>()?;
        Ok(Self { hosts, origins, listener: None, is_https: false })
    }

    /// Returns the same policy for a listener at this address.
    #[must_use]
    pub fn listening_at(self, listener: Option<SocketAddr>) -> Self {
        Self { listener, ..self }
    }

    /// Returns the same policy for a listener with TLS, or without it.
    #[must_use]
    pub fn over_tls(self, is_https: bool) -> Self {
        Self { is_https, ..self }
    }

    /// Whether the listener speaks TLS.
    pub(super) fn is_https(&self) -> bool {
        self.is_https
    }

    /// Whether the target of a request is loomrec itself. An absolute target that names loomrec is
    /// reduced to its path. A target with a user name is never taken for loomrec's: it is left
    /// whole for [`Self::admit_request`], which refuses it.
    pub(super) fn is_for_us(&self, parts: &mut Parts) -> bool {
        let Some(target) = parts.uri.authority() else { return true };
        let is_plain = parts.method != Method::CONNECT && !has_user_name(target);
        if !is_plain || !self.is_own_target(target) {
            return false;
        }
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map_or_else(Uri::default, Uri::from);
        true
    }

    /// Whether an absolute request target names loomrec itself.
    pub(super) fn is_own_target(&self, target: &Authority) -> bool {
        let (host, port) = (target.host(), target.port_u16());
        if self.names_host(host) {
            return true;
        }
        let Some(listener) = self.listener else { return false };
        let here = host.eq_ignore_ascii_case("localhost")
            || authority::host_address(host)
                .is_some_and(|ip| ip.to_canonical().is_loopback() || ip == listener.ip());
        here && port.unwrap_or(80) == listener.port()
    }

    /// Admits a request, and returns the allowed web origin that it comes from, if any.
    ///
    /// # Errors
    /// [`AccessDenial`] for a host that loomrec does not serve, or a page that may not call.
    pub(super) fn admit_request<'a>(
        &self,
        uri: &Uri,
        headers: &'a HeaderMap,
    ) -> Result<Option<&'a HeaderValue>, AccessDenial> {
        let own = self.check_host(uri.authority(), headers)?;
        let Some(origin) = headers.get(header::ORIGIN) else {
            return self.check_site(headers).map(|()| None);
        };
        let many = headers.get_all(header::ORIGIN).iter().nth(1).is_some();
        let is_own = |origin: &str| own.is_some_and(|host| authority::is_origin_of(origin, host));
        match origin.to_str() {
            Ok(text) if !many && is_own(text) => Ok(None),
            Ok(text) if !many && self.is_allowed_origin(text) => Ok(Some(origin)),
            _ => Err(foreign_page(origin)),
        }
    }

    /// Returns the `Host` if it is one that loomrec serves. It may also repeat the target of an
    /// absolute request. Whether that target is an upstream's is checked when the request is
    /// routed.
    fn check_host<'a>(
        &self,
        target: Option<&Authority>,
        headers: &'a HeaderMap,
    ) -> Result<Option<&'a str>, AccessDenial> {
        if target.is_some_and(has_user_name) {
            return Err(malformed_request(
                "the request's target holds a user name, which it must not",
            ));
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        // Every browser sends a Host.
        let Some(value) = hosts.next() else { return Ok(None) };
        if hosts.next().is_some() {
            return Err(malformed_request("the request has more than one Host"));
        }
        let Ok(host) = value.to_str() else {
            return Err(malformed_request("the request's Host is not text"));
        };
        if authority::is_loopback_v4_or_localhost(host) {
            return Ok(Some(host));
        }
        match authority::split_host_port(host) {
            None => Err(malformed_request("the request's Host is neither a name nor an address")),
            Some((name, _)) if self.is_served_host(name) => Ok(Some(host)),
            Some(_) if target.is_some_and(|target| host.eq_ignore_ascii_case(target.as_str())) => {
                Ok(None)
            }
            Some((name, _)) => Err(foreign_host(host, name)),
        }
    }

    /// Whether loomrec serves a host. Every servable address passes, even one of another machine: a
    /// foreign page cannot make an address lead here, as it can a name.
    pub(super) fn is_served_host(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("localhost")
            || authority::servable_address(name).is_some()
            || self.names_host(name)
    }

    /// Whether the user named this `Host` as one under which loomrec is called.
    pub(super) fn is_named(&self, host: &str) -> bool {
        authority::split_host_port(host).is_some_and(|(name, _)| self.names_host(name))
    }

    fn names_host(&self, name: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Refuses a request of a web page without an `Origin`: an image, a script, a form that is sent
    /// by GET, a link that was followed.
    fn check_site(&self, headers: &HeaderMap) -> Result<(), AccessDenial> {
        let Some(site) = headers.get(SEC_FETCH_SITE) else { return Ok(()) };
        let is_own = matches!(site.as_bytes(), b"same-origin" | b"none");
        match is_own || self.origins.iter().any(AllowedOrigin::is_any) {
            true => Ok(()),
            false => Err(foreign_site(site)),
        }
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed.matches(origin))
    }
}

/// Whether a target contains a user name, and so perhaps a password.
fn has_user_name(target: &Authority) -> bool {
    target.as_str().contains('@')
}

fn malformed_request(message: &str) -> AccessDenial {
    let (status, message) = (StatusCode::BAD_REQUEST, message.to_owned());
    AccessDenial { status, kind: "MalformedRequest", message }
}

fn forbidden_request(kind: &'static str, message: String) -> AccessDenial {
    AccessDenial { status: StatusCode::FORBIDDEN, kind, message }
}

fn foreign_host(host: &str, name: &str) -> AccessDenial {
    let (host, name) = (quotable_text(host), quotable_text(name));
    forbidden_request(
        "ForbiddenHost",
        format!(
            "loomrec does not serve the Host \"{host}\": a web page may have made that name lead \
             here. Call loomrec by 127.0.0.1 or localhost, or start it with \
             --public-url http://{name}"
        ),
    )
}

fn foreign_page(origin: &HeaderValue) -> AccessDenial {
    let origin = quotable_text(&String::from_utf8_lossy(origin.as_bytes()));
    let note = match origin.as_str() {
        "null" => " (\"null\" is also what any site's sandboxed frame sends)",
        _ => "",
    };
    forbidden_request(
        "ForbiddenOrigin",
        format!(
            "web pages may not call LLM APIs through loomrec, and this request comes from the \
             origin \"{origin}\". If that is the program under test, start loomrec with \
             --allow-origin {origin}{note}"
        ),
    )
}

fn foreign_site(site: &HeaderValue) -> AccessDenial {
    let site = quotable_text(&String::from_utf8_lossy(site.as_bytes()));
    forbidden_request(
        "ForbiddenOrigin",
        format!(
            "web pages may not call LLM APIs through loomrec, and this request comes from one \
             (sec-fetch-site: {site}) without saying its origin. If that page is the program \
             under test, let it call with CORS, and start loomrec with --allow-origin and its \
             origin"
        ),
    )
}

/// Returns a text from outside in the form in which a message may quote it.
fn quotable_text(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '`')).take(QUOTED).collect()
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
