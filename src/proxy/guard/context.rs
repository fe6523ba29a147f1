//! What the connections of a guard have in common.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::escapes::HostCounts;
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

/// The name and the password of a guard, which its clients must send.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct GuardLogin {
    pub(super) name: String,
    pub(super) password: String,
}

impl std::fmt::Debug for GuardLogin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    /// What clients must send. Only CMD has it, so no other user of the machine gets through.
    pub(super) login: GuardLogin,
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
}
