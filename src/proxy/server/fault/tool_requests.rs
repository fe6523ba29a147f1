//! The requests of clients of tools, which such a client can cancel by their ids.

use http::HeaderValue;

use loomrec_engine::IncomingCall;
use loomrec_engine::tool_bridge::BRIDGE_HEADER;
use loomrec_provider::{RPC_SESSION_HEADER, RpcFacts};

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

impl ToolRequests {
    /// Returns the requests that a call makes; `None` if it makes none in JSON-RPC.
    pub(super) fn from_call(call: &IncomingCall) -> Option<Self> {
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
