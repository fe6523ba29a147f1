//! The routes by which loomrec reaches an upstream.

use std::ffi::OsString;
use std::path::Path;

use super::loomrec::{Server, command};
use super::proxy::ProxyServer;
use super::scene::Scene;
use super::tls::{Authority, REMOTE_HOST, trusted_config};
use super::upstream::{Answer, Upstream};

/// A route to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Http,
    Https,
    HttpProxy,
    HttpsProxy,
}

impl Route {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::Https, Self::HttpProxy, Self::HttpsProxy];
    pub(crate) const DIRECT: [Self; 2] = [Self::Http, Self::Https];

    pub(crate) fn is_tls(self) -> bool {
        matches!(self, Self::Https | Self::HttpsProxy)
    }

    fn is_proxied(self) -> bool {
        matches!(self, Self::HttpProxy | Self::HttpsProxy)
    }

    /// An upstream at the end of this route that always gives this answer.
    pub(crate) fn always(self, answer: Answer) -> RoutedUpstream {
        self.to(Upstream::always_over(self.is_tls().then(trusted_config), answer))
    }

    fn to(self, upstream: Upstream) -> RoutedUpstream {
        let proxy = self.is_proxied().then(|| ProxyServer::start(upstream.address()));
        RoutedUpstream { route: self, upstream, proxy }
    }
}

/// A scripted upstream, and the proxy on the route to it.
pub(crate) struct RoutedUpstream {
    route: Route,
    pub(crate) upstream: Upstream,
    pub(crate) proxy: Option<ProxyServer>,
}

impl RoutedUpstream {
    /// The address that is passed to loomrec.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.route.is_tls() { "https" } else { "http" };
        let address = self.upstream.address();
        match self.proxy {
            Some(_) => format!("{scheme}://{REMOTE_HOST}:{}", address.port()),
            None => format!("{scheme}://{address}"),
        }
    }

    /// The variables that make loomrec use this route.
    pub(crate) fn environment(&self, folder: &Path) -> Vec<(&'static str, OsString)> {
        let mut set = Vec::new();
        if self.route.is_tls() {
            set.push(("SSL_CERT_FILE", Authority::trusted().write(folder).into()));
        }
        let name = if self.route.is_tls() { "HTTPS_PROXY" } else { "HTTP_PROXY" };
        set.extend(self.proxy.as_ref().map(|proxy| (name, proxy.url().into())));
        set
    }

    /// Starts a recorder that uses this route.
    #[track_caller]
    pub(crate) fn record(&self, scene: &Scene, more: &[&str]) -> Server {
        let mut command = command(scene.dir(), &scene.record_args(&self.url(), more));
        command.args(["--listen", "127.0.0.1:0"]).envs(self.environment(scene.dir()));
        Server::spawn(&mut command)
    }
}
