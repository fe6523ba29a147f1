//! Addresses of upstreams in answers, as clients reach them through loomrec.
//!
//! A client sends its next request to the address that an answer names. If that is below the
//! address of an upstream of this run, loomrec has a path for it, under which the request goes to
//! that very place: the one that the request was recorded under.

use super::replay::RecordedAddresses;
use super::route::{MountedUpstream, Route, RouteTable};
use loomrec_provider::directory::ApiAddress;
use url::Url;

/// The upstreams of a run, as an answer of one of them can name them.
#[derive(Clone, Copy)]
pub struct LocalAddresses<'a> {
    /// The upstreams.
    pub routes: &'a RouteTable,
    /// The route of the call that is answered.
    pub route: &'a Route,
    /// The addresses that recordings name. `None` if nothing is replayed.
    pub recorded: Option<&'a RecordedAddresses>,
}

impl LocalAddresses<'_> {
    /// Returns loomrec's path for an address; `None` if it is at no upstream of this run.
    pub fn path_of(&self, address: &ApiAddress<'_>) -> Option<String> {
        let own = &*self.route.upstream;
        if let Some(rest) = self.path_at(own, self.routes.upstream_address(self.route), address) {
            return Some(format!("{}{}", self.mount_path(), with_leading_slash(rest)));
        }
        let others = self.routes.named.iter();
        others.filter(|upstream| upstream.name != own).find_map(
            |MountedUpstream { name, base, .. }| {
                let rest = self.path_at(name, base.as_ref(), address)?;
                Some(format!("/{name}{}", with_leading_slash(rest)))
            },
        )
    }

    /// Returns loomrec's path for a path of the call's own upstream; `None` if it is not below the
    /// address of that upstream.
    pub fn own_path(&self, path: &str) -> Option<String> {
        Some(format!("{}{}", self.mount_path(), self.unmounted_path(path)?))
    }

    /// Returns what follows the path of the address of the call's own upstream in a path; `None` if
    /// that is not below it.
    pub fn unmounted_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        let base = self.routes.upstream_address(self.route).map_or("", Url::path);
        path.strip_prefix(base.trim_end_matches('/')).filter(|rest| rest.starts_with('/'))
    }

    /// Returns the path of an address below that of the call's own upstream, without a mount: where it
    /// is for a program whose proxy loomrec is.
    pub fn unmounted_path_of(&self, address: &ApiAddress<'_>) -> Option<String> {
        let own = &*self.route.upstream;
        self.path_at(own, self.routes.upstream_address(self.route), address).map(with_leading_slash)
    }

    /// Whether loomrec intercepts the connection of a program to an address.
    pub fn is_intercepted(&self, address: &ApiAddress<'_>) -> bool {
        let origin = address.origin();
        let host = origin.strip_prefix("https://").map(|host| match host.contains(':') {
            true => host.to_owned(),
            false => format!("{host}:443"),
        });
        let target = host.and_then(|host| host.parse().ok());
        target.is_some_and(|target| self.routes.has_upstream_at(&target))
    }

    /// Returns the path of an address below one of an upstream: the one of this run, those of the
    /// recordings, or the public one.
    fn path_at<'a>(
        &self,
        upstream: &str,
        base: Option<&Url>,
        address: &ApiAddress<'a>,
    ) -> Option<&'a str> {
        let here = base.and_then(|base| address.path_below(base.as_str()));
        let recorded = || {
            let mut origins = self.recorded?.iter().filter(|(name, _)| *name == upstream);
            origins.find_map(|(_, origin)| address.path_below(origin))
        };
        here.or_else(recorded).or_else(|| address.path_below_public(upstream))
    }

    /// Returns the mount of the call's upstream, below which its paths are.
    fn mount_path(&self) -> String {
        match self.route.single {
            true => String::new(),
            false => format!("/{}", self.route.upstream),
        }
    }
}

/// Returns a path that begins with a slash, as one of a request does.
fn with_leading_slash(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use loomrec_provider::Provider;

    fn table() -> RouteTable {
        let upstream = |name: &str, base: Option<&str>| {
            let base = base.and_then(|base| Url::parse(base).ok());
            MountedUpstream::new(name, base, Provider::UNKNOWN)
        };
        RouteTable {
            named: vec![
                upstream("anthropic", Some("http://127.0.0.1:90/gate")),
                upstream("openai", Some("https://api.openai.com")),
                upstream("azure", None),
            ],
            single: Url::parse("http://127.0.0.1:91").ok(),
            ..RouteTable::default()
        }
    }

    fn local(target: &str, address: &str) -> Option<String> {
        let routes = table();
        let uri = target.parse().unwrap();
        let route = routes.find_route(&Method::GET, &uri, &HeaderMap::new()).unwrap();
        let addresses = LocalAddresses { routes: &routes, route: &route, recorded: None };
        match ApiAddress::parse(address) {
            Some(address) => addresses.path_of(&address),
            None => addresses.own_path(address),
        }
    }

    #[test]
    fn address_at_an_upstream_of_the_run_has_a_path_here() {
        for (address, path) in [
            ("http://127.0.0.1:90/gate/v1/x?a=b", Some("/anthropic/v1/x?a=b")),
            ("https://api.anthropic.com/v1/x", Some("/anthropic/v1/x")),
            ("https://api.openai.com?a=b", Some("/openai/?a=b")),
            ("http://127.0.0.1:90/other/v1/x", None),
            ("https://eu.api.openai.com/v1/x", None),
            ("https://mine.openai.azure.com/x", None),
            ("/gate/v1/x", Some("/anthropic/v1/x")),
            ("/v1/x", None),
        ] {
            assert_eq!(local("/anthropic/v1/messages", address).as_deref(), path, "{address}");
        }
        let single = |address| local("/v1/other", address);
        assert_eq!(single("http://127.0.0.1:91/v1/x").as_deref(), Some("/v1/x"));
        assert_eq!(single("/v1/x").as_deref(), Some("/v1/x"));
    }
}
