//! What the connections of a guard have in common.

use std::sync::Arc;

use super::escapes::HostCounts;
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::TunnelConnector;

/// What happens to a connection to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapePolicy {
    /// It is refused, and counted.
    Refuse,
    /// It is made, and counted.
    Count,
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
    /// Tells which hosts are upstreams of this run.
    pub(super) routes: Arc<RouteTable>,
    pub(super) connector: TunnelConnector,
    /// What clients must send. Only CMD has it, so no other user of the machine gets through.
    pub(super) login: GuardLogin,
    pub(super) hosts: HostCounts,
}
