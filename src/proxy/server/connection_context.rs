//! One connection as its requests see it: the proxy that answers them, its peer, and what its last
//! request carried.
//!
//! A request increments a reference count on this, not one that all connections share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use http::HeaderMap;

use super::Proxy;
use super::connection_number::ConnectionNumber;
use super::peer::ConnectionPeer;
use super::session::{OpenSession, SessionLink, SessionTable};
use super::socket::ConnectionHandle;
use super::tunnel_host::TunnelHost;
use loomrec_engine::observe::ParsedHead;
use loomrec_engine::{HeadCache, RequestCredentials, RequestRef};
use loomrec_identity::QueryRules;
use loomrec_recording::redact::CallCredentials;

/// One connection, as its requests share it.
pub struct ConnectionContext {
    /// Answers the requests.
    pub(super) proxy: Arc<Proxy>,
    /// The other end.
    pub(super) peer: Arc<ConnectionPeer>,
    /// Its number.
    pub(super) number: ConnectionNumber,
    /// The handle of its socket.
    pub(super) connection: Arc<ConnectionHandle>,
    /// Whether its requests are answered: the connection is not above the limit.
    pub(super) is_served: bool,
    /// The credentials of the last request. The next request of a connection mostly carries the
    /// same ones.
    carried: Mutex<Option<Arc<RequestCredentials>>>,
    /// The last request head that was parsed, with the result.
    last: HeadCache<ParsedHead>,
    /// The sessions that its calls are assigned to. `None` if sessions have no recordings, and for a
    /// connection as a session sees it.
    pub(super) sessions: Option<Arc<SessionTable>>,
    /// What the calls hold of their session, if this is a connection as a session sees it.
    pub(super) session: Option<Arc<SessionLink>>,
    /// The session of the last call, and this connection as that session sees it.
    last_session: Mutex<Option<LastSession>>,
    /// The host of the tunnel that the connection is in.
    pub(super) tunnel: Option<Arc<TunnelHost>>,
}

/// The session of the last call of a connection.
struct LastSession {
    prefix: String,
    link: Arc<SessionLink>,
    session: Weak<OpenSession>,
    connection: Weak<ConnectionContext>,
}

impl ConnectionContext {
    /// Creates the context of `connection`.
    pub(super) fn new(
        proxy: Arc<Proxy>,
        (peer, number): (Arc<ConnectionPeer>, ConnectionNumber),
        connection: Arc<ConnectionHandle>,
        is_served: bool,
    ) -> Self {
        Self {
            proxy,
            peer,
            number,
            connection,
            is_served,
            carried: Mutex::default(),
            last: HeadCache::default(),
            sessions: None,
            session: None,
            last_session: Mutex::default(),
            tunnel: None,
        }
    }

    /// Has it in a tunnel to this host.
    pub(super) fn in_tunnel(self, tunnel: Option<Arc<TunnelHost>>) -> Self {
        Self { tunnel, ..self }
    }

    /// Assigns its calls to these sessions.
    pub(super) fn with_sessions(self, sessions: Option<Arc<SessionTable>>) -> Self {
        Self { sessions, ..self }
    }

    /// Returns the connection as a session sees it: the session's proxy answers its requests.
    pub(super) fn for_session(&self, proxy: Arc<Proxy>, link: Arc<SessionLink>) -> Self {
        let place = (Arc::clone(&self.peer), self.number);
        let connection = Arc::clone(&self.connection);
        let own = Self::new(proxy, place, connection, self.is_served);
        Self { session: Some(link), tunnel: self.tunnel.clone(), ..own }
    }

    /// Returns the connection as the session of this prefix sees it, if the last call was of the
    /// same session and the session is still open.
    pub(super) fn session_connection(&self, prefix: &str) -> Option<Arc<Self>> {
        let last = self.last_session.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref().filter(|last| last.prefix == prefix && !last.link.is_ended())?;
        last.connection.upgrade()
    }

    /// Keeps the session of this call for the next one.
    pub(super) fn set_session_connection(
        &self,
        prefix: String,
        session: &Arc<OpenSession>,
        connection: &Arc<Self>,
    ) {
        let link = Arc::clone(session.link());
        let (session, connection) = (Arc::downgrade(session), Arc::downgrade(connection));
        let new = Some(LastSession { prefix, link, session, connection });
        let old = {
            let mut last = self.last_session.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, new)
        };
        self.drop_from_session(old);
    }

    /// Leaves the session of the last call: the connection is over. Returns the session's proxy.
    pub(super) fn leave_session(&self) -> Option<Arc<Proxy>> {
        let last = self.last_session.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.drop_from_session(last)
    }

    /// Drops this connection from a session, and returns the session's proxy if it is still open.
    fn drop_from_session(&self, last: Option<LastSession>) -> Option<Arc<Proxy>> {
        let last = last?;
        let seen = last.connection.upgrade()?;
        if let Some(session) = last.session.upgrade() {
            session.drop_connection(self.number.unique_id());
        }
        Some(Arc::clone(&seen.proxy))
    }

    /// Returns the credentials in a request's headers and raw query.
    pub(super) fn request_credentials(
        &self,
        headers: &HeaderMap,
        query: &str,
        rules: QueryRules<'_>,
    ) -> Arc<CallCredentials> {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) =
            carried.as_ref().filter(|last| last.is_of(headers, query, rules.is_known))
        {
            return last.searchable_credentials();
        }
        let found = self.proxy.observer.carried_credentials(headers, query, rules);
        let secrets = found.searchable_credentials();
        *carried = Some(found);
        secrets
    }

    /// Drops what the last request carried: the next request may come at any time, or never.
    pub(super) fn forget_request(&self) {
        *self.carried.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.last.forget();
    }

    /// Returns the parsed head of a request: the cached one if it is the same as the last,
    /// otherwise the one that `open` returns.
    ///
    /// # Errors
    /// The errors of `open`.
    pub(super) fn parsed_head<E>(
        &self,
        raw: &RequestRef<'_>,
        open: impl FnOnce() -> Result<ParsedHead, E>,
    ) -> Result<Arc<ParsedHead>, E> {
        self.last.get_or_derive(raw, open)
    }
}
