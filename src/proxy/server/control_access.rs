//! Access to the control paths.
//!
//! Callers that hold the control token. Without a token, callers on this machine of the same user
//! whose `Host` is one that loomrec serves: a web page must not reach the paths through a name of
//! its own. Among web pages only loomrec's own: another port of this machine is another origin, and
//! anybody's page may run there.

use http::{HeaderMap, HeaderValue, Method, header};
use subtle::ConstantTimeEq as _;

use super::access::{AccessPolicy, SEC_FETCH_SITE};
use super::authority;
use super::peer::{CallerStanding, ControlCaller};

/// The prefix of a token in `authorization`.
const BEARER: &[u8] = b"bearer ";

/// The reason given when a page of another origin is refused.
const FOREIGN: &str = "web pages of another origin may not use the control paths";

/// The reason given when a caller of another user is refused.
const OTHER_USER: &str = "the control paths answer the user that runs loomrec, and the superuser: \
                          another user's program needs the token of a run that was started with \
                          --control-token";

/// The reason given when nobody can say whose call it is.
const GONE: &str = "the caller has closed its connection, so its user cannot be found: wait for the \
                    answer, or send the token of a run that was started with --control-token";

/// The access check of the control paths of one listener.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlAccess<'a> {
    /// The token that admits callers from anywhere.
    pub(super) token: Option<&'a str>,
    /// The names under which the user has loomrec called. `None` if only this machine calls.
    pub(super) policy: Option<&'a AccessPolicy>,
}

impl ControlAccess<'_> {
    /// Checks that the caller may use the control paths. A web page of another origin may not, even
    /// if it holds the token.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub(super) fn admit_request(
        self,
        method: &Method,
        headers: &HeaderMap,
        caller: ControlCaller,
    ) -> Result<(), &'static str> {
        self.admit_caller(headers, caller)?;
        if !self.is_own_page(headers) {
            return Err(FOREIGN);
        }
        // A link that was followed may show numbers. Only GET and HEAD are harmless.
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
        match reads || matches!(site, None | Some(b"same-origin" | b"none")) {
            true => Ok(()),
            false => Err(FOREIGN),
        }
    }

    /// Checks that the caller may load the inspector's page, which contains no data and asks for
    /// the token itself.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub(super) fn admit_to_page(
        self,
        headers: &HeaderMap,
        caller: ControlCaller,
    ) -> Result<(), &'static str> {
        if self.token.is_none() {
            return self.admit_request(&Method::GET, headers, caller);
        }
        // A foreign page cannot make an address lead here, as it can a name.
        let is_ours = |text: &str| {
            let is_named = self.policy.is_some_and(|policy| policy.is_named(text));
            is_named || names_this_machine(text) || is_address(text)
        };
        let is_ours = |value: &HeaderValue| value.to_str().is_ok_and(is_ours);
        match headers.get_all(header::HOST).iter().all(is_ours) {
            true => Ok(()),
            false => Err(
                "this Host is not one that loomrec serves: use this machine's address, or give a \
                 --public-url with the host",
            ),
        }
    }

    /// Checks that the caller holds the token, or is the same user on this machine if there is no
    /// token.
    fn admit_caller(self, headers: &HeaderMap, caller: ControlCaller) -> Result<(), &'static str> {
        if let Some(expected) = self.token {
            return match sent_token(headers) {
                // The time that it takes says nothing of the bytes.
                Some(given) if given.ct_eq(expected.as_bytes()).into() => Ok(()),
                _ => Err(
                    "the control paths need this run's token in x-loomrec-token, or as a bearer's",
                ),
            };
        }
        is_here(caller)?;
        // A Host that is not text is not ours. A request without a Host passes.
        let mut hosts = headers.get_all(header::HOST).iter();
        match hosts.all(|host| host.to_str().is_ok_and(names_this_machine)) {
            true => Ok(()),
            false => Err("this Host is not one that loomrec serves"),
        }
    }

    /// Whether a request comes from no web page, or from a page that this listener served: its
    /// origin has the listener's scheme, host and port. With a token, it may be https, as a TLS
    /// proxy may forward the requests.
    fn is_own_page(self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().filter(|_| hosts.next().is_none());
        let host = host.and_then(|host| host.to_str().ok());
        let is_https = self.policy.is_some_and(AccessPolicy::is_https);
        let is_own = |origin: &HeaderValue| {
            let Ok(origin) = origin.to_str() else { return false };
            let may_be_https = is_https || self.token.is_some();
            let over_tls = || origin.strip_prefix("https://").filter(|_| may_be_https);
            let plain = origin.strip_prefix("http://").filter(|_| !is_https);
            let authority = plain.or_else(over_tls);
            authority.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
        };
        headers.get_all(header::ORIGIN).iter().all(is_own)
    }
}

/// Returns the token that a caller sends: in loomrec's header or as a bearer token, which scrapers
/// can send.
fn sent_token(headers: &HeaderMap) -> Option<&[u8]> {
    let header = |name| headers.get(name).map(HeaderValue::as_bytes);
    let bearer = |value: &'_ [u8]| {
        value.len() >= BEARER.len() && value[..BEARER.len()].eq_ignore_ascii_case(BEARER)
    };
    header("x-loomrec-token").or_else(|| {
        let value = header("authorization").filter(|value| bearer(value))?;
        Some(value[BEARER.len()..].trim_ascii())
    })
}

fn is_here(caller: ControlCaller) -> Result<(), &'static str> {
    match (caller.address.ip().to_canonical().is_loopback(), caller.standing) {
        (false, _) => Err("the control paths answer this machine only; see --control-token"),
        (true, CallerStanding::OtherUser) => Err(OTHER_USER),
        (true, CallerStanding::Gone) => Err(GONE),
        (true, CallerStanding::SameUser | CallerStanding::Unknown) => Ok(()),
    }
}

/// Whether a `Host` is a name of the loopback interface.
fn names_this_machine(host: &str) -> bool {
    authority::split_host_port(host).is_some_and(|(name, _)| {
        name.eq_ignore_ascii_case("localhost")
            || authority::servable_address(name).is_some_and(|ip| ip.is_loopback())
    })
}

/// Whether a `Host` is an address and not a name.
fn is_address(host: &str) -> bool {
    authority::split_host_port(host)
        .is_some_and(|(name, _)| authority::host_address(name).is_some())
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    /// A caller at this address.
    fn caller(address: &str, standing: CallerStanding) -> ControlCaller {
        ControlCaller { address: address.parse().unwrap(), standing }
    }

    #[test]
    fn caller_of_another_user_needs_the_token() {
        let admits = |token: Option<&str>, given: Option<&str>, standing: CallerStanding| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:4141"));
            let given = given.map(|given| HeaderValue::from_str(given).unwrap());
            given.map(|given| headers.insert("x-loomrec-token", given));
            let access = ControlAccess { token, policy: None };
            access.admit_request(&Method::GET, &headers, caller("127.0.0.1:9", standing)).is_ok()
        };
        for refused in [CallerStanding::OtherUser, CallerStanding::Gone] {
            assert!(!admits(None, None, refused) && !admits(None, Some("t"), refused));
            assert!(!admits(Some("t"), Some("u"), refused) && !admits(Some("t"), None, refused));
            assert!(admits(Some("t"), Some("t"), refused));
        }
        assert!(admits(None, None, CallerStanding::SameUser));
        assert!(admits(None, None, CallerStanding::Unknown));
    }

    #[test]
    fn only_names_of_the_loopback_interface_are_ours() {
        for ours in ["localhost", "LOCALHOST:80", "127.0.0.1:4141", "[::1]:4141", "[::1]"] {
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
            "http://localhost:3000",
            "evil://localhost",
            "//localhost",
            "[localhost]",
            "[::ffff:127.0.0.1]:4141",
            "[::]",
            "null",
            "10.0.0.1",
        ] {
            assert!(!names_this_machine(other), "{other}");
        }
    }

    #[test]
    fn with_a_token_the_page_is_given_under_addresses_and_the_names_that_the_user_gave() {
        let policy = AccessPolicy::from_flags(vec!["proxy.test".to_owned()], &[]).unwrap();
        let given = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            let caller = caller("10.0.0.9:1", CallerStanding::Unknown);
            let access = ControlAccess { token: Some("t"), policy: Some(&policy) };
            access.admit_to_page(&headers, caller).is_ok()
        };
        assert!(given("10.0.0.1:4141") && given("[fe80::1]:4141") && given("localhost:4141"));
        assert!(!given("evil.example:4141") && !given("127.0.0.1.evil.example"));
        assert!(given("proxy.test:4141") && given("PROXY.TEST:4141"));
        assert!(!given("proxy.test.evil.example:4141"));
    }

    /// Whether a request with these headers is admitted, with the token or without one.
    fn admits(token: Option<&str>, method: &Method, headers: &[(&'static str, &str)]) -> bool {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        let headers: HeaderMap = headers.iter().map(pair).collect();
        ControlAccess { token, policy: None }
            .admit_request(method, &headers, caller("127.0.0.1:9", CallerStanding::SameUser))
            .is_ok()
    }

    #[test]
    fn caller_on_another_machine_needs_the_token() {
        let admits = |token: Option<&str>, given: Option<&str>, peer: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("10.0.0.1:4141"));
            let given = given.map(|given| HeaderValue::from_str(given).unwrap());
            given.map(|given| headers.insert("x-loomrec-token", given));
            let access = ControlAccess { token, policy: None };
            access
                .admit_request(&Method::POST, &headers, caller(peer, CallerStanding::Unknown))
                .is_ok()
        };
        for far in ["10.0.0.9:1", "[2001:db8::1]:1", "[::ffff:10.0.0.9]:1", "0.0.0.0:1"] {
            assert!(!admits(None, None, far) && !admits(None, Some("t"), far), "{far}");
            assert!(!admits(Some("t"), None, far) && !admits(Some("t"), Some("T"), far), "{far}");
            assert!(admits(Some("t"), Some("t"), far), "{far}");
        }
    }

    #[test]
    fn page_of_a_listener_with_tls_has_an_https_origin() {
        let admits = |is_https: bool, origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:4141"));
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            let policy = AccessPolicy::default().over_tls(is_https);
            let access = ControlAccess { token: None, policy: Some(&policy) };
            let caller = caller("127.0.0.1:9", CallerStanding::SameUser);
            access.admit_request(&Method::GET, &headers, caller).is_ok()
        };
        let [plain, tls] = ["http://127.0.0.1:4141", "https://127.0.0.1:4141"];
        assert!(admits(true, tls) && !admits(true, plain));
        assert!(!admits(false, tls) && admits(false, plain));
    }

    #[test]
    fn a_page_of_another_origin_is_refused_whatever_it_holds() {
        let with = |host: &str, origin: &str, token: Option<&str>| {
            let headers = [("host", host), ("origin", origin), ("x-loomrec-token", "t")];
            admits(token, &Method::GET, &headers)
        };
        for token in [None, Some("t")] {
            assert!(with("127.0.0.1:4141", "http://127.0.0.1:4141", token));
            assert!(with("localhost:4141", "http://localhost:4141", token));
            for origin in [
                "https://evil.example",
                "null",
                "http://localhost:3000",
                "http://localhost:4141",
                "http://127.0.0.1",
                "http://127.0.0.1:41410",
                "http://u@127.0.0.1:4141",
                "127.0.0.1:4141",
            ] {
                assert!(!with("127.0.0.1:4141", origin, token), "{origin}");
            }
        }
        assert!(!with("127.0.0.1:4141", "https://127.0.0.1:4141", None));
        assert!(with("10.0.0.1:4141", "https://10.0.0.1:4141", Some("t")));
        assert!(!admits(None, &Method::GET, &[("origin", "http://127.0.0.1:4141")]));
    }

    #[test]
    fn a_request_of_a_page_that_names_no_origin_changes_nothing() {
        for (site, changes) in
            [("cross-site", false), ("same-site", false), ("same-origin", true), ("none", true)]
        {
            let headers = [("host", "localhost:4141"), ("sec-fetch-site", site)];
            assert_eq!(admits(None, &Method::POST, &headers), changes, "{site}");
            assert!(admits(None, &Method::GET, &headers), "{site}");
        }
        assert!(admits(None, &Method::POST, &[("host", "localhost:4141")]));
    }
}
