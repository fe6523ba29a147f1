//! One connection as its requests see it: the proxy behind it, who is at the
//! other end, and what its last request carried.
//!
//! A request costs one count on this, not one on what all connections share.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;

use super::Proxy;
use super::socket::ConnectionHandle;
use loomrec_engine::observe::ParsedHead;
use loomrec_engine::{HeadCache, RequestCredentials, RequestRef};
use loomrec_identity::QueryRules;
use loomrec_recording::redact::CallCredentials;

/// One connection, for its requests.
pub struct ConnectionContext {
    /// What answers them.
    pub(super) proxy: Arc<Proxy>,
    /// Who makes them.
    pub(super) peer: SocketAddr,
    /// The number of the connection, from 1.
    pub(super) number: u64,
    /// The socket's side of it.
    pub(super) connection: Arc<ConnectionHandle>,
    /// Whether its requests are answered: it is not above the limit of connections.
    pub(super) is_served: bool,
    /// The credentials of the last request: a connection's next one mostly carries
    /// the same.
    carried: Mutex<Option<Arc<RequestCredentials>>>,
    /// The last head that was looked at, and what follows from it.
    last: HeadCache<ParsedHead>,
}

impl ConnectionContext {
    /// The caller at the other end of `connection`.
    pub(super) fn new(
        proxy: Arc<Proxy>,
        (peer, number): (SocketAddr, u64),
        connection: Arc<ConnectionHandle>,
        is_served: bool,
    ) -> Self {
        let (carried, last) = (Mutex::default(), HeadCache::default());
        Self { proxy, peer, number, connection, is_served, carried, last }
    }

    /// The credentials in a request's headers and raw query.
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

    /// Forgets what was carried last: nobody knows when the next request comes.
    pub(super) fn forget(&self) {
        *self.carried.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.last.forget();
    }

    /// What follows from the head of a request: known from the last one, else opened.
    ///
    /// # Errors
    /// What `open` fails for.
    pub(super) fn opening<E>(
        &self,
        raw: &RequestRef<'_>,
        open: impl FnOnce() -> Result<ParsedHead, E>,
    ) -> Result<Arc<ParsedHead>, E> {
        self.last.of(raw, open)
    }
}
