//! An incoming call, whose request was read in full, routed and redacted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, Method};

use super::parsed_request::ParsedRequest;
use super::route::Route;
use crate::websocket::turn_link::SocketTurn;
use loomrec_provider::{Provider, RPC_SESSION_HEADER, RpcIds, RpcKind};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;

/// A call whose request was read in full, routed and redacted.
pub struct IncomingCall {
    /// Everything derived from the bytes of the request.
    pub parsed: Arc<ParsedRequest>,
    /// The method.
    pub method: Method,
    /// The headers as they arrived.
    pub headers: HeaderMap,
    /// The body as it arrived.
    pub body: Bytes,
    /// The path and the query as the client signed them for AWS, if it did.
    pub signed_target: Option<Box<str>>,
    /// When the call arrived.
    pub arrived: Instant,
    /// The same moment in microseconds since 1970, unique in this run.
    pub arrived_at: i64,
    /// Whether the call is kept waiting because its recorded client got nothing; `None` if the
    /// recording has no such call.
    pub is_held: Option<Arc<AtomicBool>>,
    /// Whether the call is made in the place of a turn over a WebSocket.
    pub is_turn: bool,
    /// That turn, if it has an upstream.
    pub turn: Option<SocketTurn>,
}

impl IncomingCall {
    /// Returns the route of the call.
    pub fn route(&self) -> &Route {
        &self.parsed.route
    }

    /// Returns the shape of errors for this call: that of its provider, else that of its upstream.
    pub fn error_shape(&self) -> Provider {
        let own = self.parsed.redacted.observed.call.provider;
        if own == Provider::UNKNOWN { self.parsed.route.provider } else { own }
    }

    /// Returns the request as it may be stored or shown.
    pub fn storable_request(&self) -> &NormalizedRequest {
        self.parsed.redacted.storable_request()
    }

    /// Returns the credentials of the request.
    pub fn secrets(&self) -> &CallCredentials {
        &self.parsed.redacted.secrets
    }

    /// Sets whether the call is kept waiting because its recorded client got nothing.
    pub(crate) fn set_held(&self, is_held: bool) {
        self.is_held.iter().for_each(|mark| mark.store(is_held, Ordering::Relaxed));
    }

    /// Returns the ids that the client gave its requests, if they are in JSON-RPC.
    pub fn rpc_ids(&self) -> Option<RpcIds> {
        let observed = &self.parsed.redacted.observed;
        observed.call.rpc.as_ref()?;
        // The body may have come compressed.
        RpcIds::from_body(&self.body).or_else(|| RpcIds::from_body(observed.body()))
    }

    /// Returns the session with a server of tools that the client names.
    pub(crate) fn rpc_session(&self) -> Option<&str> {
        self.headers.get(RPC_SESSION_HEADER).and_then(|value| value.to_str().ok())
    }

    /// Whether the call asks for the rest of a stream of a server of tools.
    pub(crate) fn resumes_rpc_stream(&self) -> bool {
        let rpc = self.storable_request().call.rpc.as_ref();
        let opens_stream = rpc.is_some_and(|method| method.kind == RpcKind::OpenStream);
        opens_stream && self.headers.contains_key("last-event-id")
    }

    /// Returns the content codings that the client accepts.
    pub(crate) fn accept_encoding(&self) -> Option<&str> {
        self.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok())
    }
}
