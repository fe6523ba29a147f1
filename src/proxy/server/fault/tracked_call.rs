//! A call as the recovery from faults sees it: its key, what it asks for, and its requests to a
//! server of tools, which their client can cancel by their ids.

use std::sync::Arc;

use http::HeaderValue;

use loomrec_engine::IncomingCall;
use loomrec_engine::tool_bridge::BRIDGE_HEADER;
use loomrec_fault::CallKey;
use loomrec_fault::recovery::{WorkFacts, WorkIdentity};
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_provider::{RPC_SESSION_HEADER, RpcFacts};

/// A call, as far as the recovery from faults depends on it.
#[derive(Clone, Debug)]
pub(in crate::server) struct TrackedCall {
    pub(super) key: CallKey,
    /// When it arrived.
    pub(super) arrived_at: i64,
    /// What it asks for. `None` if that cannot be told, or nothing depends on it.
    pub(super) work: Option<Arc<WorkIdentity>>,
    /// Its requests to a server of tools. `None` if it has none, or nothing depends on them.
    pub(super) requests: Option<Arc<ToolRequests>>,
}

/// Requests of one client of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolRequests {
    client: ToolClient,
    /// Their ids, as canonical JSON.
    ids: Vec<String>,
}

/// A client of tools, whose ids are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ToolClient {
    session: Option<String>,
    upstream: String,
    /// Its session with the server, and the bridge that it uses.
    names: [Option<HeaderValue>; 2],
}

impl TrackedCall {
    /// Returns a call that has arrived, with the key that its repetitions share: that of the recorded
    /// request which answers them, if there is one, or else its key under these rules.
    pub(super) fn from_arrival(
        call: &IncomingCall,
        recorded: Option<RequestKey>,
        rules: &IdentityRules,
    ) -> Self {
        let observed = call.storable_request();
        let key = CallKey::Request {
            session: observed.session.clone(),
            request: recorded.unwrap_or_else(|| observed.key_under(rules)),
            upstream: observed.upstream.clone(),
            step: observed.step.clone(),
        };
        Self { key, arrived_at: call.arrived_at, work: None, requests: None }
    }

    /// Returns a connection on which nothing was asked.
    pub(super) fn from_connection(arrived_at: i64) -> Self {
        Self { key: CallKey::Connection, arrived_at, work: None, requests: None }
    }

    /// Finds out what the call asks for, unless that is known.
    pub(super) fn find_work(&mut self, call: &IncomingCall) {
        if self.work.is_some() {
            return;
        }
        let observed = call.storable_request();
        let facts = WorkFacts {
            session: observed.session.as_deref(),
            step: observed.step.as_deref(),
            upstream: &observed.upstream,
            provider: observed.call.provider,
            model: observed.call.model.as_deref(),
            operation: observed.call.operation,
            body: observed.body(),
        };
        self.work = WorkIdentity::from_call(&facts).map(Arc::new);
    }

    /// Finds out what the recovery from a fault of this call depends on.
    pub(super) fn prepare_recovery(&mut self, call: &IncomingCall) {
        self.find_work(call);
        self.requests = ToolRequests::from_call(call).map(Arc::new);
    }
}

impl ToolRequests {
    /// Returns the requests that a call makes; `None` if it makes none in JSON-RPC.
    fn from_call(call: &IncomingCall) -> Option<Self> {
        Self::read_requests(call, |facts| facts.requests)
    }

    /// Returns the requests that a call cancels; `None` if it cancels none.
    pub(super) fn cancelled_by(call: &IncomingCall) -> Option<Self> {
        Self::read_requests(call, |facts| facts.cancelled.into_iter().collect())
    }

    /// Whether some request is among these, too.
    pub(super) fn overlaps_with(&self, other: &Self) -> bool {
        self.client == other.client && self.ids.iter().any(|id| other.ids.contains(id))
    }

    fn read_requests(
        call: &IncomingCall,
        ids: impl FnOnce(RpcFacts) -> Vec<String>,
    ) -> Option<Self> {
        let observed = call.storable_request();
        observed.call.rpc.as_ref()?;
        let ids = ids(RpcFacts::from_line(observed.body())?);
        let (session, upstream) = (observed.session.clone(), observed.upstream.clone());
        let names = [RPC_SESSION_HEADER, BRIDGE_HEADER].map(|name| call.headers.get(name).cloned());
        let client = ToolClient { session, upstream, names };
        (!ids.is_empty()).then_some(Self { client, ids })
    }

    /// Returns a request with this id of the upstream `tools`.
    #[cfg(test)]
    pub(super) fn with_id(id: &str) -> Self {
        let client = ToolClient { session: None, upstream: "tools".into(), names: [None, None] };
        Self { client, ids: vec![id.to_owned()] }
    }
}
