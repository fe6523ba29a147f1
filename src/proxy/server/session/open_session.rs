//! An open session: its proxy, its calls that are on their way, and the connections that it serves.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{CloseSession, OpenedSession, ReportSession, SessionInfo, SessionRequest};
use crate::server::Proxy;

/// How long the calls of a session that ends may go on before hanging faults are ended.
const SOON: Duration = Duration::from_millis(500);

/// An open session.
pub(crate) struct OpenSession {
    pub(super) info: SessionInfo,
    /// The request that it was begun with.
    pub(super) session_request: SessionRequest,
    pub(super) proxy: Arc<Proxy>,
    pub(super) report: ReportSession,
    /// Taken when the session ends.
    close: Mutex<Option<CloseSession>>,
    /// The connections as this session sees them, by their numbers. They keep the proxy alive, so
    /// they go when the session ends.
    connections: Mutex<HashMap<u64, Arc<dyn Any + Send + Sync>>>,
    link: Arc<SessionLink>,
}

/// What a call of a session holds of it.
#[derive(Debug)]
pub(crate) struct SessionLink {
    /// Calls whose answers are on their way.
    calls: AtomicUsize,
    /// Notified when the last of these calls has ended.
    idle: Notify,
    /// Calls so far.
    total: AtomicU64,
    is_ended: AtomicBool,
    began: Instant,
    /// When the last call began or ended, in milliseconds after the beginning.
    last_ms: AtomicU64,
}

impl SessionLink {
    fn new() -> Self {
        Self {
            calls: AtomicUsize::new(0),
            idle: Notify::new(),
            total: AtomicU64::new(0),
            is_ended: AtomicBool::new(false),
            began: Instant::now(),
            last_ms: AtomicU64::new(0),
        }
    }

    /// Notes that a call begins.
    pub(crate) fn call_begins(&self) {
        self.calls.fetch_add(1, Ordering::AcqRel);
        self.total.fetch_add(1, Ordering::Relaxed);
        self.note_use();
    }

    /// Notes that a call is over.
    pub(crate) fn call_ends(&self) {
        self.note_use();
        if self.calls.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }

    /// Whether the session has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    fn note_use(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(now, Ordering::Relaxed);
    }

    /// Returns once no call is on its way.
    async fn no_calls(&self) {
        loop {
            // Created before the check, so that a call that ends in between is not missed.
            let idle = self.idle.notified();
            if self.calls.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl OpenSession {
    /// Creates the state of a session that was opened.
    pub(super) fn new(opened: OpenedSession, request: SessionRequest) -> Self {
        let OpenedSession { info, proxy, close, report } = opened;
        Self {
            info,
            session_request: request,
            proxy,
            report,
            close: Mutex::new(Some(close)),
            connections: Mutex::default(),
            link: Arc::new(SessionLink::new()),
        }
    }

    /// Returns what its calls hold of it.
    pub(crate) fn link(&self) -> &Arc<SessionLink> {
        &self.link
    }

    /// Returns how many calls it had so far.
    pub(super) fn call_count(&self) -> u64 {
        self.link.total.load(Ordering::Relaxed)
    }

    /// Returns how long it has had no call. Zero while a call is on its way.
    pub(super) fn idle_time(&self) -> Duration {
        if self.link.calls.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        let last = Duration::from_millis(self.link.last_ms.load(Ordering::Relaxed));
        self.link.began.elapsed().saturating_sub(last)
    }

    /// Waits for calls that are about to end, so that a report includes them.
    pub(super) async fn wait_for_calls(&self, most: Duration) {
        // A stream that goes on is left out.
        let _out_of_time = tokio::time::timeout(most, self.link.no_calls()).await;
    }

    /// Keeps a connection, as this session sees it, until the session or the connection ends.
    pub(super) fn keep_connection(&self, number: u64, connection: Arc<dyn Any + Send + Sync>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.link.is_ended() {
            connections.insert(number, connection);
        }
    }

    /// Drops a connection that is over.
    pub(crate) fn drop_connection(&self, number: u64) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.remove(&number);
    }

    /// Waits up to `grace` for calls that are on their way, and returns what closes the session.
    /// `None` if the session was ended before.
    pub(super) async fn end_within(&self, grace: Duration) -> Option<CloseSession> {
        let close = self.close.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.link.is_ended.store(true, Ordering::Release);
        let soon = grace.min(SOON);
        if tokio::time::timeout(soon, self.link.no_calls()).await.is_err() {
            // Faults that would hang until their client leaves end now.
            self.proxy.faults.end_hanging_faults();
            // Whether the wait ends or times out, the session is over.
            drop(tokio::time::timeout(grace - soon, self.link.no_calls()).await);
        }
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let left = self.link.calls.load(Ordering::Acquire);
        self.proxy.telemetry.counters.leave_unanswered(left as u64);
        Some(close)
    }
}
