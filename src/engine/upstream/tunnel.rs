//! Tunnels: connections that loomrec makes for a program whose proxy it is.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::{Authority, Scheme};
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::connect::{UpstreamConnector, in_time};
use super::proxy::ProxySettings;
use super::stream::UpstreamStream;
use super::tls::TlsSetup;
use loomrec_identity::error_chain;

/// How long the addresses of a name are waited for. Connecting has a limit of its own.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes connections to `https` addresses, through the proxy that loomrec's own environment names
/// for them.
#[derive(Clone, Debug)]
pub struct TunnelConnector {
    connector: UpstreamConnector,
    proxies: Arc<ProxySettings>,
}

/// Where tunnels may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelScope {
    /// To other machines.
    OtherMachines,
    /// Also to this machine.
    ThisMachineToo,
}

/// The error of a connection that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The host, or the proxy before it, cannot be reached or is not trusted.
    #[error("connect to {host}: {detail}")]
    Unreachable {
        /// The host.
        host: Authority,
        /// The reason.
        detail: String,
    },
    /// The host is this machine.
    #[error("connect to {host}: it is this machine")]
    ThisMachine {
        /// The host.
        host: Authority,
    },
}

impl TunnelConnector {
    /// Reads the proxies from the environment. Certificates are read when they are first needed.
    pub fn from_environment() -> Self {
        let proxies = Arc::new(ProxySettings::from_environment());
        let (tls, opened) = (Arc::new(TlsSetup::default()), Arc::default());
        Self { connector: UpstreamConnector::new(tls, Arc::clone(&proxies), opened), proxies }
    }

    /// Opens a connection on which the program makes its own TLS.
    ///
    /// # Errors
    /// [`TunnelError`] if the host is out of scope, or it or the proxy cannot be reached.
    pub async fn open(
        &self,
        host: &Authority,
        scope: TunnelScope,
    ) -> Result<UpstreamStream, TunnelError> {
        self.check_scope(host, scope).await?;
        let connecting = async { self.connector.clone().connect_raw(https_uri(host)?).await };
        in_time(connecting).await.map_err(|error| unreachable_error(host, &*error))
    }

    /// Opens a connection on which loomrec makes TLS.
    ///
    /// # Errors
    /// [`TunnelError`] if the host is out of scope, or it or the proxy cannot be reached or is not
    /// trusted.
    pub async fn open_tls(
        &self,
        host: &Authority,
        scope: TunnelScope,
    ) -> Result<UpstreamStream, TunnelError> {
        self.check_scope(host, scope).await?;
        let connecting = async { self.connector.clone().connect(https_uri(host)?).await };
        in_time(connecting).await.map_err(|error| unreachable_error(host, &*error))
    }

    /// Refuses a host that is this machine, by its name or by the addresses that the name has, if no
    /// tunnel may lead there. If a proxy makes the connection, the name is all that is known.
    async fn check_scope(&self, host: &Authority, scope: TunnelScope) -> Result<(), TunnelError> {
        if scope == TunnelScope::ThisMachineToo {
            return Ok(());
        }
        let name = host.host();
        let is_direct = https_uri(host).is_ok_and(|to| self.proxies.is_direct(&to));
        let leads_here = is_this_machine(name)
            || (is_direct && {
                let port = host.port_u16().unwrap_or(443);
                // A name that cannot be resolved fails again when it is connected to.
                let lookup = lookup_host((name.trim_matches(['[', ']']), port));
                let found = timeout(LOOKUP_TIMEOUT, lookup).await;
                found.is_ok_and(|found| {
                    found.is_ok_and(|mut found| found.any(|address| is_address_here(address.ip())))
                })
            });
        match leads_here {
            true => Err(TunnelError::ThisMachine { host: host.clone() }),
            false => Ok(()),
        }
    }
}

/// Whether a host is a name or an address of this machine, as it is written.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(address) => is_address_here(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether an address leads to this machine. That without a value (`0.0.0.0`) does, too.
fn is_address_here(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

fn https_uri(host: &Authority) -> Result<Uri, http::Error> {
    Uri::builder().scheme(Scheme::HTTPS).authority(host.clone()).path_and_query("/").build()
}

fn unreachable_error(host: &Authority, error: &(dyn std::error::Error + 'static)) -> TunnelError {
    TunnelError::Unreachable { host: host.clone(), detail: error_chain(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_machine_are_known_in_every_spelling() {
        for host in [
            "localhost",
            "LocalHost.",
            "app.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "[::]",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "10.0.0.1", "[2606:4700::1]"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
