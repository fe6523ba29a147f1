//! Connections to upstreams: how they are made and counted.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tower_service::Service;

use super::proxy::{ProxyRoute, ProxySettings};
use super::socket_address::uri_path;
use super::stream::{FirstHop, UpstreamStream};
use super::tls::{HttpVersion, TlsSetup};
use loomrec_os::connect_local_socket;

/// The most time that making a connection may take, including the name, the proxy and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often an idle connection is probed, as in reqwest.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// How many probes may go unanswered.
const KEEPALIVE_RETRIES: u32 = 3;

/// An error of any kind.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a connection through a proxy that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("go through the proxy {proxy}")]
pub(super) struct ProxyError {
    /// The address of the proxy, without credentials.
    proxy: Uri,
    #[source]
    source: BoxError,
}

impl ProxyError {
    /// Finds the failure of a proxy among the causes of an error.
    pub(super) fn find_in_causes<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut causes = std::iter::successors(Some(error), |&error| error.source());
        causes.find_map(|cause| cause.downcast_ref())
    }
}

/// Makes connections, and counts them.
#[derive(Clone, Debug)]
pub(super) struct UpstreamConnector {
    tcp: HttpConnector,
    tls: Arc<TlsSetup>,
    proxies: Arc<ProxySettings>,
    opened: Arc<AtomicU64>,
    version: HttpVersion,
}

impl UpstreamConnector {
    /// Returns a connector that adds the connections it opens to `opened`.
    pub(super) fn new(
        tls: Arc<TlsSetup>,
        proxies: Arc<ProxySettings>,
        opened: Arc<AtomicU64>,
    ) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        tcp.set_tcp_user_timeout(Some(CONNECT_TIMEOUT));
        Self { tcp, tls, proxies, opened, version: HttpVersion::Http1 }
    }

    /// Returns a connector for connections over this version of HTTP.
    pub(super) fn for_version(&self, version: HttpVersion) -> Self {
        Self { version, ..self.clone() }
    }

    /// Opens a connection for requests to `to`.
    pub(super) async fn connect(mut self, to: Uri) -> Result<UpstreamStream, BoxError> {
        if let Some(path) = uri_path(&to) {
            return Ok(UpstreamStream::local(connect_local_socket(&path).await?));
        }
        match self.proxies.route_to(&to) {
            ProxyRoute::Direct => self.open(to).await.map(UpstreamStream::direct),
            ProxyRoute::Forward(proxy) => {
                let mut to_proxy = self.for_version(HttpVersion::Http1);
                let hop = to_proxy.open(proxy.uri().clone()).await;
                hop.map(UpstreamStream::forwarded).map_err(|source| at_proxy(&proxy, source))
            }
            ProxyRoute::Tunnel(proxy) => {
                let stream = self.connect_through_tunnel(&proxy, to).await;
                stream.map(UpstreamStream::tunnelled).map_err(|source| in_tunnel(&proxy, source))
            }
            ProxyRoute::Socks(proxy) => {
                let hop = self.connect_through_socks(&proxy, to).await;
                hop.map(UpstreamStream::direct).map_err(|source| in_tunnel(&proxy, source))
            }
        }
    }

    /// Opens a connection over which a client and the server at `to` make their own TLS.
    pub(super) async fn connect_raw(mut self, to: Uri) -> Result<UpstreamStream, BoxError> {
        let hop = match self.proxies.route_to(&to) {
            ProxyRoute::Direct | ProxyRoute::Forward(_) => {
                Ok(MaybeHttpsStream::Http(self.tcp.call(to).await?))
            }
            ProxyRoute::Tunnel(proxy) => {
                let hop = self.tunnel_connector(&proxy).await?.call(to).await;
                hop.map_err(|source| at_proxy(&proxy, source.into()))
            }
            ProxyRoute::Socks(proxy) => {
                let hop = self.socks_proxy(&proxy)?.call(to).await;
                hop.map(MaybeHttpsStream::Http).map_err(|source| at_proxy(&proxy, source.into()))
            }
        };
        hop.map(UpstreamStream::direct)
    }

    /// Opens a connection to a server or a proxy.
    async fn open(&mut self, to: Uri) -> Result<FirstHop, BoxError> {
        match to.scheme() == Some(&Scheme::HTTPS) {
            true => self.https_connector(self.version).await?.call(to).await,
            false => Ok(MaybeHttpsStream::Http(self.tcp.call(to).await?)),
        }
    }

    async fn https_connector(
        &self,
        version: HttpVersion,
    ) -> Result<HttpsConnector<HttpConnector>, BoxError> {
        Ok(HttpsConnector::from((self.tcp.clone(), self.tls.config_for(version).await?)))
    }

    async fn connect_through_tunnel(
        &self,
        proxy: &Intercept,
        to: Uri,
    ) -> Result<MaybeHttpsStream<FirstHop>, BoxError> {
        let tunnel = self.tunnel_connector(proxy).await?;
        let config = self.tls.config_for(self.version).await?;
        HttpsConnector::from((tunnel, config)).call(to).await
    }

    /// Returns what opens tunnels through an HTTP proxy.
    async fn tunnel_connector(
        &self,
        proxy: &Intercept,
    ) -> Result<Tunnel<HttpsConnector<HttpConnector>>, BoxError> {
        let tunnel =
            Tunnel::new(proxy.uri().clone(), self.https_connector(HttpVersion::Http1).await?);
        Ok(match proxy.basic_auth() {
            Some(authorization) => tunnel.with_auth(authorization.clone()),
            None => tunnel,
        })
    }

    /// Opens a connection through SOCKS 5. The proxy resolves the name.
    async fn connect_through_socks(
        &self,
        proxy: &Intercept,
        to: Uri,
    ) -> Result<FirstHop, BoxError> {
        let socks = self.socks_proxy(proxy)?;
        let port = if to.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
        let config = self.tls.config_for(self.version).await?;
        HttpsConnector::from((socks, config)).call(with_port(&to, port)?).await
    }

    /// Returns what opens connections through a SOCKS proxy.
    fn socks_proxy(&self, proxy: &Intercept) -> Result<SocksV5<HttpConnector>, BoxError> {
        if !matches!(proxy.uri().scheme_str(), Some("socks5" | "socks5h")) {
            let text = "proxies are reached by http, https, socks5 and socks5h only";
            return Err(text.into());
        }
        let mut socks = SocksV5::new(with_port(proxy.uri(), 1080)?, self.tcp.clone());
        if let Some((name, password)) = proxy.raw_auth() {
            socks = socks.with_auth(name.to_owned(), password.to_owned());
        }
        Ok(socks)
    }
}

/// Bounds the time of making a connection. The TCP connector would divide its own limit among the
/// addresses of a name.
pub(super) async fn in_time<T>(
    connecting: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "operation timed out");
    timeout(CONNECT_TIMEOUT, connecting).await.map_err(late)?
}

/// Returns the error of a failure at a proxy.
fn at_proxy(proxy: &Intercept, source: BoxError) -> BoxError {
    ProxyError { proxy: proxy.uri().clone(), source }.into()
}

/// Returns the error of a failure at a proxy. A TLS failure of the upstream behind it, which is an
/// I/O error, stays as it is.
fn in_tunnel(proxy: &Intercept, source: BoxError) -> BoxError {
    if source.is::<io::Error>() { source } else { at_proxy(proxy, source) }
}

/// Returns an address with an explicit port.
fn with_port(uri: &Uri, default: u16) -> Result<Uri, http::Error> {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(default);
    let builder = Uri::builder().scheme(uri.scheme_str().unwrap_or_default());
    builder.authority(format!("{host}:{port}")).path_and_query("/").build()
}

impl Service<Uri> for UpstreamConnector {
    type Response = TokioIo<UpstreamStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let opened = Arc::clone(&connector.opened);
            let stream = in_time(connector.connect(to)).await?;
            opened.fetch_add(1, Ordering::Relaxed);
            Ok(TokioIo::new(stream))
        })
    }
}
