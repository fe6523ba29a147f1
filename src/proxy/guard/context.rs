//! What the connections of a guard have in common.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::uri::Authority;
use tokio::net::TcpStream;

use super::escapes::{HostCounts, TunnelFailure};
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::{TunnelConnector, TunnelScope};

/// What happens to a connection to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapePolicy {
    /// It is refused, and counted.
    Refuse,
    /// It is made, and counted. Nothing is refused: the program works as it would without a guard.
    Count,
}

impl EscapePolicy {
    /// Returns how many connections are open at once. Others wait to be accepted.
    pub(super) fn most_connections(self) -> usize {
        match self {
            Self::Refuse => 256,
            Self::Count => 1000,
        }
    }

    /// Returns where connections that are passed on may lead.
    pub(super) fn tunnel_scope(self) -> TunnelScope {
        match self {
            Self::Refuse => TunnelScope::OtherMachines,
            Self::Count => TunnelScope::ThisMachineToo,
        }
    }

    /// Returns the status for a host that cannot be reached. Some clients take it for the answer of
    /// that host, and try again after 502: telemetry waits for a minute that way. Nothing in a replay
    /// is worth that, and a program that is recorded may try again.
    pub(super) fn unreachable_status(self) -> &'static str {
        match self {
            Self::Refuse => "403",
            Self::Count => "502",
        }
    }
}

/// Callback for a sentence to the person at the terminal.
pub type TellUser = Arc<dyn Fn(&str) + Send + Sync>;

/// What a guard does beyond watching, with `--intercept`.
#[derive(Clone)]
pub struct InterceptionPolicy {
    /// The hosts to which a replay lets connections through (`--pass`), in lower case, each with its
    /// port if that is not 443.
    pub passed: Vec<String>,
    /// The file with the certificate that clients have to trust.
    pub certificate_file: String,
    /// Says once for each host what is wrong with its connections.
    pub tell: TellUser,
}

impl fmt::Debug for InterceptionPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InterceptionPolicy").field("passed", &self.passed).finish()
    }
}

/// The name and the password of a guard, which its clients must send.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct GuardLogin {
    pub(super) name: String,
    pub(super) password: String,
}

impl fmt::Debug for GuardLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GuardLogin")
    }
}

/// What the connections of a guard have in common.
#[derive(Debug)]
pub(super) struct GuardContext {
    pub(super) policy: EscapePolicy,
    /// Where loomrec listens.
    pub(super) listener: SocketAddr,
    /// Tells which hosts are upstreams of this run.
    pub(super) routes: Arc<RouteTable>,
    pub(super) connector: TunnelConnector,
    /// Whether tunnels to the hosts of upstreams end here, and what else it does then.
    pub(super) interception: Option<InterceptionPolicy>,
    pub(super) hosts: HostCounts,
}

impl GuardContext {
    /// Whether loomrec itself listens at this host, in lower case, and port: some clients use their
    /// proxy for every address.
    pub(super) fn is_listener(&self, host: &str, port: u16) -> bool {
        let own = self.listener.ip();
        let is_here = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical() == own || (own.is_unspecified() && ip.is_loopback()),
            Err(_) => host == "localhost",
        };
        is_here && port == self.listener.port()
    }

    /// Whether a tunnel to this address, with its port, ends here.
    pub(super) fn is_intercepted(&self, to: &Authority) -> bool {
        self.interception.is_some() && self.routes.has_upstream_at(to)
    }

    /// Whether a connection to a host that is no provider's is passed on. A replay with interception
    /// passes only those that the user named: a gateway that nobody knows would answer for the
    /// recording.
    pub(super) fn is_passed_on(&self, shown: &str) -> bool {
        match (&self.interception, self.policy) {
            (Some(interception), EscapePolicy::Refuse) => {
                interception.passed.iter().any(|passed| passed == shown)
            }
            _ => true,
        }
    }

    /// Counts a connection to a host that was refused, and says so for the first one.
    pub(super) fn refuse_host(&self, shown: &str) {
        if self.hosts.add_refused(shown)
            && let Some(interception) = &self.interception
        {
            (interception.tell)(&format!(
                "a connection to {shown} was refused: a replay with --intercept makes none to hosts \
                 that are no upstream's; --pass {shown} lets it through"
            ));
        }
    }

    /// Counts a tunnel that ended before its first request, and says so for the first one. `reason`
    /// follows "its client".
    pub(super) fn note_failed(&self, host: &str, reason: &str, failure: TunnelFailure) {
        let is_first = self.hosts.add_failed(host, reason, failure);
        let Some(interception) = self.interception.as_ref().filter(|_| is_first) else { return };
        let remedy = match failure {
            TunnelFailure::Distrusted => {
                format!("; have it trust the authority in {}", interception.certificate_file)
            }
            TunnelFailure::Left | TunnelFailure::NoHandshake => String::new(),
        };
        (interception.tell)(&format!("a connection to {host} failed: its client {reason}{remedy}"));
    }
}

/// A client of the guard, as the listener through which it came knows it.
#[derive(Clone, Copy, Debug)]
pub enum ProxyClient<'a> {
    /// It is this user's program on this machine.
    Own,
    /// It has to send this token as its password.
    WithToken(&'a str),
    /// It may not use the proxy, for this reason.
    Refused(&'static str),
}

/// What a client of the guard has to send.
#[derive(Clone, Copy, Debug)]
pub(super) enum NeededLogin<'a> {
    /// The name and the password of the run. Only CMD has them, so no other user of the machine gets
    /// through.
    OfRun(&'a GuardLogin),
    /// What its listener says.
    OfListener(ProxyClient<'a>),
}

/// A tunnel whose end loomrec is. Its client has been told that it is open.
#[derive(Debug)]
pub struct AcceptedTunnel {
    /// The connection of the client.
    pub client: TcpStream,
    /// The host, in lower case, with its port if that is not 443.
    pub host: Authority,
}
