//! What the connections of a guard have in common.

use std::sync::Arc;

use super::escapes::EscapeCounts;
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::{ProxyLogin, TunnelConnector};

/// What happens to a connection to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapePolicy {
    /// It is refused, and counted.
    Refuse,
    /// It is made, and counted.
    Count,
}

/// What the connections of a guard have in common.
#[derive(Debug)]
pub(super) struct GuardContext {
    pub(super) policy: EscapePolicy,
    /// Tells which hosts are upstreams of this run.
    pub(super) routes: Arc<RouteTable>,
    pub(super) connector: TunnelConnector,
    /// What clients must send, because the next proxy needs it from them.
    pub(super) login: Option<ProxyLogin>,
    pub(super) escapes: EscapeCounts,
}
