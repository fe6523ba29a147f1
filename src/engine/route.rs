//! Routing: which upstream a request goes to, and under which path.
//!
//! `/@SESSION/NAME/rest` names session and upstream. Without a known NAME the path goes to the
//! single `--upstream URL`; if there is none, the shape of the request decides. The rest keeps its
//! raw percent-encoding.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::uri::Authority;
use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use super::tool_bridge::{BridgeFolder, BridgeName};
use loomrec_provider::{Provider, directory};

/// The name of the upstream for calls of no known shape.
pub const UNNAMED: &str = "default";

const ANTHROPIC_VERSION: &str = "anthropic-version";

/// One upstream.
#[derive(Clone, Debug)]
pub struct MountedUpstream {
    /// Its name: the first segment of the path.
    pub name: String,
    /// Its address; `None` if the user has to give it (`--upstream NAME=URL`).
    pub base: Option<Url>,
    /// The shape of its errors.
    pub provider: Provider,
    /// Whether a call was routed to it.
    used: UseMark,
}

/// A mark that is set at the first use. Its copies are one mark.
#[derive(Clone, Debug, Default)]
struct UseMark(Arc<AtomicBool>);

impl UseMark {
    fn mark_used(&self) {
        // Reading first keeps calls from writing to memory that all of them share.
        if !self.is_set() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An address at which calls of a replayed recording were made.
#[derive(Clone, Debug)]
pub struct RecordedOrigin {
    /// The name of the upstream.
    pub upstream: String,
    /// Its scheme, host and port.
    pub base: Url,
}

/// All upstreams of this run.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// The named upstreams.
    pub named: Vec<MountedUpstream>,
    /// Upstreams that only absolute targets name, by their host: those of programs whose proxy
    /// loomrec is. Several may have the name of one upstream.
    pub by_host: Vec<MountedUpstream>,
    /// The addresses of upstreams that a replayed recording names. Nothing is routed by them.
    pub recorded: Vec<RecordedOrigin>,
    /// The single `--upstream URL`.
    pub single: Option<Url>,
    /// Whether calls of no known shape go to [`UNNAMED`] although no URL is given. True in a replay
    /// whose recordings hold such calls.
    pub unnamed: bool,
    /// The folder with the sockets of `loomrec mcp`, if the run has one.
    pub bridges: Option<BridgeFolder>,
}

/// Where a request goes.
#[derive(Clone, Debug)]
pub struct Route {
    /// The upstream's name.
    pub upstream: String,
    /// Whether its address is the single `--upstream URL`; see [`RouteTable::upstream_address`].
    pub single: bool,
    /// The shape of its errors, unless the request itself has one.
    pub provider: Provider,
    /// The raw path after the mount.
    pub path: String,
    /// The raw query.
    pub query: String,
    /// The session named in the path.
    pub session: Option<String>,
    /// The place of its upstream among those that only absolute targets name, if it is one of them.
    pub of_host: Option<usize>,
    /// The address of the server of tools that a bridge has asked for.
    pub bridge: Option<Url>,
    /// The host of the upstream's provider that the call would go to, if its target is absolute: the
    /// client says which server it means.
    pub named_host: Option<String>,
}

/// The error of a request that names no upstream.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// Neither its path nor its shape names an upstream.
    #[error(
        "route {path:?}: neither its first segment nor its shape names an upstream; the upstreams \
         are {known}; add one with --upstream NAME=URL, or send everything to one with --upstream \
         URL"
    )]
    Path {
        /// The raw path.
        path: String,
        /// The upstreams' names.
        known: String,
    },
    /// An absolute target, as a proxy gets it, whose host belongs to no upstream. The credentials
    /// in the request are for that host and must not be sent to another one.
    #[error(
        "route a request for {host}: that is neither an upstream's address nor loomrec's own; add \
         it with --upstream NAME={scheme}://{host}, or with --public-url {scheme}://{name} if it is \
         another name of loomrec"
    )]
    Host {
        /// Its scheme.
        scheme: String,
        /// Host and port.
        host: String,
        /// The host alone.
        name: String,
    },
    /// An absolute target at the host of upstreams whose addresses have other paths.
    #[error(
        "route a request for {origin}: the addresses of the upstreams at that host have other \
         paths; add one with --upstream NAME={origin}"
    )]
    HostPath {
        /// Scheme, host and port.
        origin: String,
    },
}

impl RouteError {
    /// Leaves out the user part of the target, because it may hold a password.
    fn of_target(uri: &Uri, target: &Authority, is_upstream: bool) -> Self {
        let port = target.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let name = target.host().to_owned();
        let (scheme, host) = (uri.scheme_str().unwrap_or("http"), format!("{name}{port}"));
        match is_upstream {
            true => Self::HostPath { origin: format!("{scheme}://{host}") },
            false => Self::Host { scheme: scheme.to_owned(), host, name },
        }
    }
}

impl RouteTable {
    /// Returns the route of a request. The host of an absolute target is not loomrec's own.
    ///
    /// # Errors
    /// [`RouteError`] naming the known upstreams.
    pub fn find_route(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Route, RouteError> {
        let mut route = self.place_request(method, uri, headers)?;
        if uri.authority().is_some() {
            let origin = self.upstream_address(&route).map(|base| &base[..Position::BeforePath]);
            let host = origin.and_then(|at| directory::provider_host(&route.upstream, Some(at)));
            route.named_host = host.map(str::to_owned);
        }
        Ok(route)
    }

    fn place_request(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Route, RouteError> {
        let (session, path) = split_session(uri.path());
        let query = uri.query().unwrap_or_default().to_owned();
        let mut path = path;
        if let Some(target) = uri.authority() {
            if let Some((upstream, below)) = self.place_at(target, path) {
                let of_host = self.by_host.iter().position(|known| std::ptr::eq(known, upstream));
                return Ok(Route { of_host, ..upstream.make_route(below, query, session) });
            }
            let single = self.single.as_ref().filter(|base| is_at(base, target));
            let below = single.and_then(|base| path_below(base, path));
            let is_upstream = || self.has_upstream_at(target);
            path = below.ok_or_else(|| RouteError::of_target(uri, target, is_upstream()))?;
        }
        let (first, rest) = split_first(path);
        let named = self.named.iter().find(|upstream| upstream.name == first);
        let bridge = BridgeName::of_sender(headers).filter(|_| is_upstream_name(first));
        if let Some(bridge) = bridge.filter(|_| uri.authority().is_none()) {
            let folder = self.bridges.as_ref();
            let address = folder.and_then(|folder| folder.bridge_url(&bridge));
            let unlisted = MountedUpstream::new(first, None, Provider::UNKNOWN);
            let place = named.unwrap_or(&unlisted).make_route(rest, query, session);
            return Ok(Route { bridge: address, ..place });
        }
        if let Some(upstream) = named.filter(|_| uri.authority().is_none()) {
            return Ok(upstream.make_route(rest, query, session));
        }
        let shape = loomrec_provider::upstream_for(method.as_str(), path, &shape_headers(headers));
        let named = shape.and_then(|name| self.named.iter().find(|known| known.name == name));
        match (named, &self.single) {
            (Some(upstream), Some(_)) => {
                Ok(Route { single: true, ..upstream.make_route(path, query, session) })
            }
            (Some(upstream), None) => Ok(upstream.make_route(path, query, session)),
            (None, single) if single.is_some() || self.unnamed => {
                let (name, provider) = (UNNAMED.to_owned(), Provider::UNKNOWN);
                let unnamed = MountedUpstream::new(name, None, provider);
                Ok(Route { single: true, ..unnamed.make_route(path, query, session) })
            }
            (None, _) => {
                Err(RouteError::Path { path: path.to_owned(), known: self.upstream_names() })
            }
        }
    }

    /// Returns the address of the upstream that a route leads to, if it is known.
    pub fn upstream_address<'a>(&'a self, place: &'a Route) -> Option<&'a Url> {
        if let Some(bridge) = &place.bridge {
            return Some(bridge);
        }
        if place.single {
            return self.single.as_ref();
        }
        let of_host = place.of_host.and_then(|index| self.by_host.get(index));
        let named = || self.named.iter().find(|upstream| upstream.name == place.upstream);
        of_host.or_else(named)?.base.as_ref()
    }

    /// Returns the upstream whose host an absolute target names, and the path below its address:
    /// the host of its address in this run, or else its public host. Of two upstreams at one host,
    /// the longer address counts.
    fn place_at<'a>(
        &self,
        target: &Authority,
        path: &'a str,
    ) -> Option<(&MountedUpstream, &'a str)> {
        let here = self.mounted_upstreams().filter_map(|upstream| {
            let base = upstream.base.as_ref().filter(|base| is_at(base, target))?;
            Some((upstream, path_below(base, path)?))
        });
        // Of equal ones, this finds the first.
        let here = here.min_by_key(|(_, below)| below.len());
        here.or_else(|| {
            let public = self.named.iter().find(|known| is_public_host(&known.name, target));
            public.map(|upstream| (upstream, path))
        })
    }

    /// Whether requests to this host and port have an upstream.
    pub fn has_upstream_at(&self, target: &Authority) -> bool {
        let is_here = |base: &Url| is_at(base, target);
        self.mounted_upstreams().any(|known| known.base.as_ref().is_some_and(is_here))
            || self.named.iter().any(|known| is_public_host(&known.name, target))
            || self.single.as_ref().is_some_and(is_here)
    }

    /// Returns all upstreams with a name.
    fn mounted_upstreams(&self) -> impl Iterator<Item = &MountedUpstream> {
        self.named.iter().chain(&self.by_host)
    }

    /// Returns the name of the upstream of this run to whose host a connection leads.
    pub fn own_upstream_at_host(&self, target: &Authority) -> Option<&str> {
        let is_here = |base: Option<&Url>| base.is_some_and(|base| is_at(base, target));
        if let Some(upstream) = self.named.iter().find(|known| is_here(known.base.as_ref())) {
            return Some(&upstream.name);
        }
        is_here(self.single.as_ref()).then_some(UNNAMED)
    }

    /// Returns the name of the upstream whose calls were recorded at the host to which a connection
    /// leads.
    pub fn recorded_upstream_at_host(&self, target: &Authority) -> Option<&str> {
        let is_here = |known: &&RecordedOrigin| is_at(&known.base, target);
        self.recorded.iter().find(is_here).map(|known| known.upstream.as_str())
    }

    /// Returns the known addresses of all upstreams.
    pub fn upstream_addresses(&self) -> impl Iterator<Item = &Url> {
        self.named.iter().filter_map(|upstream| upstream.base.as_ref()).chain(&self.single)
    }

    /// Returns the upstreams' names, for messages.
    pub fn upstream_names(&self) -> String {
        let names: Vec<&str> = self.named.iter().map(|upstream| upstream.name.as_str()).collect();
        names.join(", ")
    }
}

impl MountedUpstream {
    /// Creates an upstream that no call was routed to.
    pub fn new(name: impl Into<String>, base: Option<Url>, provider: Provider) -> Self {
        Self { name: name.into(), base, provider, used: UseMark::default() }
    }

    /// Whether a call was routed to it.
    pub fn is_used(&self) -> bool {
        self.used.is_set()
    }

    fn make_route(&self, path: &str, query: String, session: Option<String>) -> Route {
        self.used.mark_used();
        Route {
            upstream: self.name.clone(),
            single: false,
            provider: self.provider,
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            query,
            session,
            of_host: None,
            bridge: None,
            named_host: None,
        }
    }
}

/// Whether a text can be the first segment of a path.
pub fn is_upstream_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with("__")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Whether a target names the host and port of an address. A target without a port matches an
/// address without one, whatever the scheme: a request that reaches the proxy over http is sent on
/// with the scheme of the address.
fn is_at(base: &Url, target: &Authority) -> bool {
    let same_port = match target.port_u16() {
        Some(port) => base.port_or_known_default() == Some(port),
        None => base.port().is_none(),
    };
    same_port && base.host_str().is_some_and(|host| host.eq_ignore_ascii_case(target.host()))
}

/// Whether a target names the public host of an upstream.
fn is_public_host(upstream: &str, target: &Authority) -> bool {
    let has_usual_port = target.port_u16().is_none_or(|port| port == 443);
    let Some(known) = directory::KnownUpstream::find(upstream) else {
        // Of some providers, only the hosts are known. That of a region or a customer is another
        // server, which must not get this one's keys.
        let mut fixed = directory::ProviderHosts::fixed_hosts();
        let is_it = |name, host: &str| name == upstream && host.eq_ignore_ascii_case(target.host());
        return has_usual_port && fixed.any(|(name, host)| is_it(name, host));
    };
    let Some(base) = known.base else { return false };
    match base.strip_prefix("https://").filter(|host| !host.contains([':', '/'])) {
        Some(host) => has_usual_port && host.eq_ignore_ascii_case(target.host()),
        None => Url::parse(base).is_ok_and(|base| is_at(&base, target)),
    }
}

/// Returns a raw path below that of an address. `None` if it is not below it.
fn path_below<'a>(base: &Url, path: &'a str) -> Option<&'a str> {
    let below = path.strip_prefix(base.path().trim_end_matches('/'))?;
    (below.is_empty() || below.starts_with('/')).then_some(below)
}

/// Splits `/@SESSION` off the front of a path.
fn split_session(path: &str) -> (Option<String>, &str) {
    let Some(tail) = path.strip_prefix("/@") else { return (None, path) };
    let end = tail.find('/').unwrap_or(tail.len());
    let (name, rest) = tail.split_at(end);
    let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
    (Some(name).filter(|name| !name.is_empty()), rest)
}

/// Returns the first segment of a path, and what follows it.
fn split_first(path: &str) -> (&str, &str) {
    let tail = path.strip_prefix('/').unwrap_or(path);
    tail.split_at(tail.find('/').unwrap_or(tail.len()))
}

/// Returns the header that shows a request's shape if its path does not.
fn shape_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let version = headers.get(ANTHROPIC_VERSION).and_then(|value| value.to_str().ok());
    let header = |value: &str| (ANTHROPIC_VERSION.to_owned(), value.to_owned());
    version.map(header).into_iter().collect()
}

#[cfg(test)]
mod tests;
