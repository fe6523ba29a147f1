//! Tunnels: connections that loomrec makes for a program whose proxy it is.

use std::fmt;
use std::sync::Arc;

use http::Uri;
use http::uri::{Authority, Scheme};

use super::connect::{UpstreamConnector, in_time};
use super::proxy::ProxySettings;
use super::stream::UpstreamStream;
use super::tls::TlsSetup;
use loomrec_identity::error_chain;

/// Makes connections to `https` addresses, through the proxy that loomrec's own environment names
/// for them.
#[derive(Clone, Debug)]
pub struct TunnelConnector {
    connector: UpstreamConnector,
    proxies: Arc<ProxySettings>,
}

/// Name and password for a proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyLogin {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for ProxyLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProxyLogin")
    }
}

/// The error of a connection that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("connect to {host}: {detail}")]
pub struct TunnelError {
    host: Authority,
    detail: String,
}

impl TunnelConnector {
    /// Reads the proxies from the environment. Certificates are read when they are first needed.
    pub fn from_environment() -> Self {
        let proxies = Arc::new(ProxySettings::from_environment());
        let (tls, opened) = (Arc::new(TlsSetup::default()), Arc::default());
        Self { connector: UpstreamConnector::new(tls, Arc::clone(&proxies), opened), proxies }
    }

    /// Returns name and password for the proxy that connections go through, if it needs them.
    pub fn login(&self) -> Option<ProxyLogin> {
        let (name, password) = self.proxies.login()?;
        Some(ProxyLogin { name, password })
    }

    /// Opens a connection on which the program makes its own TLS.
    ///
    /// # Errors
    /// [`TunnelError`] if the host or the proxy cannot be reached.
    pub async fn open(&self, host: &Authority) -> Result<UpstreamStream, TunnelError> {
        let connecting = async { self.connector.clone().connect_raw(address(host)?).await };
        in_time(connecting).await.map_err(|error| failed(host, &*error))
    }

    /// Opens a connection on which loomrec makes TLS.
    ///
    /// # Errors
    /// [`TunnelError`] if the host or the proxy cannot be reached, or is not trusted.
    pub async fn open_tls(&self, host: &Authority) -> Result<UpstreamStream, TunnelError> {
        let connecting = async { self.connector.clone().connect(address(host)?).await };
        in_time(connecting).await.map_err(|error| failed(host, &*error))
    }
}

fn address(host: &Authority) -> Result<Uri, http::Error> {
    Uri::builder().scheme(Scheme::HTTPS).authority(host.clone()).path_and_query("/").build()
}

fn failed(host: &Authority, error: &(dyn std::error::Error + 'static)) -> TunnelError {
    TunnelError { host: host.clone(), detail: error_chain(error) }
}
