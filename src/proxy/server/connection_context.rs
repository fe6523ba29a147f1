//! One connection as its requests see it: the proxy that answers them, its peer, and what its last
//! request carried.
//!
//! A request increments a reference count on this, not one that all connections share.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;

use super::Proxy;
use super::socket::ConnectionHandle;
use loomrec_engine::observe::ParsedHead;
use loomrec_engine::{HeadCache, RequestCredentials, RequestRef};
use loomrec_identity::QueryRules;
use loomrec_recording::redact::CallCredentials;

/// One connection, as its requests share it.
pub struct ConnectionContext {
    /// Answers the requests.
    pub(super) proxy: Arc<Proxy>,
    /// The address of the client.
    pub(super) peer: SocketAddr,
    /// The number of the connection, from 1.
    pub(super) number: u64,
    /// The handle of its socket.
    pub(super) connection: Arc<ConnectionHandle>,
    /// Whether its requests are answered: the connection is not above the limit.
    pub(super) is_served: bool,
    /// The credentials of the last request. The next request of a connection mostly carries the
    /// same ones.
    carried: Mutex<Option<Arc<RequestCredentials>>>,
    /// The last request head that was parsed, with the result.
    last: HeadCache<ParsedHead>,
}

impl ConnectionContext {
    /// Creates the context of `connection`.
    pub(super) fn new(
        proxy: Arc<Proxy>,
        (peer, number): (SocketAddr, u64),
        connection: Arc<ConnectionHandle>,
        is_served: bool,
    ) -> Self {
        let (carried, last) = (Mutex::default(), HeadCache::default());
        Self { proxy, peer, number, connection, is_served, carried, last }
    }

    /// Returns the credentials in a request's headers and raw query.
    pub(super) fn secrets(
        &self,
        headers: &HeaderMap,
        query: &str,
        rules: QueryRules<'_>,
    ) -> Arc<CallCredentials> {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) =
            carried.as_ref().filter(|last| last.is_of(headers, query, rules.is_known))
        {
            return last.secrets();
        }
        let found = self.proxy.observer.carried(headers, query, rules);
        let secrets = found.secrets();
        *carried = Some(found);
        secrets
    }

    /// Drops what the last request carried: the next request may come at any time, or never.
    pub(super) fn forget(&self) {
        *self.carried.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.last.forget();
    }

    /// Returns the parsed head of a request: the cached one if it is the same as the last,
    /// otherwise the one that `open` returns.
    ///
    /// # Errors
    /// The errors of `open`.
    pub(super) fn opening<E>(
        &self,
        raw: &RequestRef<'_>,
        open: impl FnOnce() -> Result<ParsedHead, E>,
    ) -> Result<Arc<ParsedHead>, E> {
        self.last.of(raw, open)
    }
}
