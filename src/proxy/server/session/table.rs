//! The table of open sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::limits::{MOST_OPEN, OutsideCalls, SessionLimits};
use super::open_session::OpenSession;
use super::totals::SessionTotals;
use super::{OpenedSession, SessionHost, SessionRefusal, SessionReport, SessionRequest};
use loomrec_engine::{RunStrictness, StrictRefusal, blocking};
use loomrec_telemetry::metric::ScrapedSessions;

/// The version of these endpoints. It grows when a member changes its meaning or goes.
pub(super) const VERSION: u64 = 1;

/// How long the calls of a session that ends have to end.
const GRACE: Duration = Duration::from_secs(10);

/// The sessions of a server.
pub struct SessionTable {
    host: Arc<dyn SessionHost>,
    pub(super) limits: SessionLimits,
    /// That of the run.
    strictness: Arc<RunStrictness>,
    open: Mutex<HashMap<String, Arc<SessionSlot>>>,
    /// How many slots there are, for calls that need no session.
    slots: AtomicUsize,
    /// Whether no further session is opened.
    pub(super) is_draining: AtomicBool,
    totals: Mutex<SessionTotals>,
}

/// The place of a session in the table. Its lock is held while the session is opened or ended.
#[derive(Default)]
struct SessionSlot(Arc<AsyncMutex<Option<Arc<OpenSession>>>>);

/// The lock of a slot.
type SlotGuard = OwnedMutexGuard<Option<Arc<OpenSession>>>;

/// Why a call has no session.
#[derive(Debug)]
pub(crate) struct EntryRefusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

/// The end of a session.
pub(super) struct SessionEnd {
    pub(super) session: Arc<OpenSession>,
    pub(super) kept: bool,
    pub(super) report: SessionReport,
}

impl SessionTable {
    /// Creates an empty table for a run.
    pub fn new(
        host: Arc<dyn SessionHost>,
        limits: SessionLimits,
        strictness: Arc<RunStrictness>,
    ) -> Self {
        let (open, slots) = (Mutex::default(), AtomicUsize::new(0));
        let totals = Mutex::new(SessionTotals::new(limits.judge));
        let is_draining = AtomicBool::new(false);
        Self { host, limits, strictness, open, slots, is_draining, totals }
    }

    /// Returns what the command line does for sessions.
    pub(super) fn session_host(&self) -> &Arc<dyn SessionHost> {
        &self.host
    }

    /// Returns the URL under which clients reach the server.
    pub(super) fn server_url(&self) -> String {
        self.host.server_url()
    }

    /// Returns what became of the sessions so far.
    pub fn totals(&self) -> SessionTotals {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the numbers of the sessions, for a scrape.
    pub(crate) fn scraped_counts(&self) -> ScrapedSessions {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        ScrapedSessions {
            open: self.slots.load(Ordering::Relaxed) as u64,
            begun: totals.opened,
            ended: totals.ended + totals.abandoned,
            expired: totals.expired,
            refused: totals.refused,
        }
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<String, Arc<SessionSlot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change_totals(&self, change: impl FnOnce(&mut SessionTotals)) {
        change(&mut self.totals.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Locks the slot of a prefix, and makes one if there is room.
    async fn lock_slot(&self, prefix: &str) -> Result<SlotGuard, SessionRefusal> {
        loop {
            let slot = self.find_or_add_slot(prefix)?;
            let guard = Arc::clone(&slot.0).lock_owned().await;
            // The slot may have been removed from the table during the wait.
            if self.find_slot(prefix).is_some_and(|current| Arc::ptr_eq(&current, &slot)) {
                return Ok(guard);
            }
        }
    }

    /// Locks the slot of a prefix, if it has one.
    pub(super) async fn lock_known(&self, prefix: &str) -> Option<SlotGuard> {
        Some(Arc::clone(&self.find_slot(prefix)?.0).lock_owned().await)
    }

    /// Returns the slot of a prefix, and makes one if there is room.
    fn find_or_add_slot(&self, prefix: &str) -> Result<Arc<SessionSlot>, SessionRefusal> {
        let mut open = self.lock_open();
        if let Some(slot) = open.get(prefix) {
            return Ok(Arc::clone(slot));
        }
        if self.is_draining() {
            let text = "this server is about to stop: it opens no further session";
            return Err(SessionRefusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
        }
        if open.len() >= MOST_OPEN {
            let text = format!("{MOST_OPEN} sessions are open, which is the limit");
            return Err(SessionRefusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
        }
        self.slots.store(open.len() + 1, Ordering::Relaxed);
        Ok(Arc::clone(open.entry(prefix.to_owned()).or_default()))
    }

    /// Gives no prefix a slot from now on. Those that have one are in the table by then.
    pub(super) fn refuse_new_slots(&self) {
        let _table = self.lock_open();
        self.is_draining.store(true, Ordering::Release);
    }

    /// Returns the slot of a prefix, if it has one.
    fn find_slot(&self, prefix: &str) -> Option<Arc<SessionSlot>> {
        self.lock_open().get(prefix).map(Arc::clone)
    }

    /// Removes the slot of a prefix. The caller holds its lock.
    pub(super) fn remove_slot(&self, prefix: &str) {
        let mut open = self.lock_open();
        open.remove(prefix);
        self.slots.store(open.len(), Ordering::Relaxed);
    }

    /// Whether the run answers every call: it answers those outside of open sessions, and no
    /// session is open.
    pub(super) fn leaves_all_to_run(&self) -> bool {
        let is_empty = self.slots.load(Ordering::Relaxed) == 0;
        is_empty && self.limits.outside == OutsideCalls::AnswerInRun
    }

    /// Returns what becomes of calls whose session is not open.
    pub(super) fn outside_calls(&self) -> OutsideCalls {
        self.limits.outside
    }

    /// Returns the session of a call, and opens it if calls may. `None` if the run answers the call.
    pub(super) async fn session_of_call(
        &self,
        prefix: &str,
    ) -> Result<Option<Arc<OpenSession>>, EntryRefusal> {
        let refuse = |refusal: SessionRefusal| {
            self.change_totals(|totals| totals.refused += 1);
            let SessionRefusal { status, message } = refusal;
            // A recording that cannot be read is no fault of the program.
            let is_busy = status == StatusCode::SERVICE_UNAVAILABLE;
            let status = if is_busy { status } else { StatusCode::BAD_REQUEST };
            EntryRefusal { status, message: format!("session {prefix}: {message}") }
        };
        if self.limits.outside != OutsideCalls::OpenSession {
            let open = self.lock_known(prefix).await.and_then(|place| place.clone());
            if open.is_some() || self.limits.outside == OutsideCalls::AnswerInRun {
                return Ok(open);
            }
            let message = format!(
                "no session is open for the prefix {prefix:?}: the test framework has to begin one \
                 before this call"
            );
            return Err(EntryRefusal { status: StatusCode::BAD_REQUEST, message });
        }
        let mut place = self.lock_slot(prefix).await.map_err(refuse)?;
        if let Some(session) = &*place {
            return Ok(Some(Arc::clone(session)));
        }
        let opened = self.open_session(SessionRequest::by_call(prefix)).await;
        let session = opened.inspect_err(|_| self.remove_slot(prefix)).map_err(refuse)?;
        *place = Some(Arc::clone(&session));
        Ok(Some(session))
    }

    /// Begins a session for a control call.
    pub(super) async fn begin_session(
        &self,
        request: SessionRequest,
    ) -> Result<Arc<OpenSession>, SessionRefusal> {
        let begun = self.begin_uncounted(request).await;
        begun.inspect_err(|_| self.change_totals(|totals| totals.refused += 1))
    }

    async fn begin_uncounted(
        &self,
        request: SessionRequest,
    ) -> Result<Arc<OpenSession>, SessionRefusal> {
        let prefix = request.prefix.clone();
        let mut place = self.lock_slot(&prefix).await?;
        if let Some(open) = &*place {
            let text = format!(
                "the session {:?} is still open for the prefix {prefix:?}: end it first",
                open.info.name
            );
            return Err(SessionRefusal::new(StatusCode::CONFLICT, text));
        }
        let opened = self.open_session(request).await;
        let session = opened.inspect_err(|_| self.remove_slot(&prefix))?;
        *place = Some(Arc::clone(&session));
        Ok(session)
    }

    async fn open_session(
        &self,
        request: SessionRequest,
    ) -> Result<Arc<OpenSession>, SessionRefusal> {
        let opened = self.ask_host(&request).await?;
        self.change_totals(|totals| totals.opened += 1);
        Ok(Arc::new(OpenSession::new(opened, request)))
    }

    /// Has the command line open a session, unless the replay is strict and the request would weaken
    /// it.
    async fn ask_host(&self, request: &SessionRequest) -> Result<OpenedSession, SessionRefusal> {
        let asked: Vec<String> = request
            .weakening_members()
            .iter()
            .map(|member| format!("{member} of a session"))
            .collect();
        let refused =
            |why: StrictRefusal| SessionRefusal::new(StatusCode::FORBIDDEN, why.to_string());
        let mut admission = self.strictness.admit_harmless();
        for asked in &asked {
            admission = self.strictness.admit_uncounted(asked).map_err(refused)?;
        }
        let (host, request) = (Arc::clone(&self.host), request.clone());
        let opened = blocking::run_blocking(move || host.open(&request, admission)).await?;
        asked.iter().for_each(|asked| opened.proxy.strictness.count_admission(asked));
        Ok(opened)
    }

    /// Returns the open session of a prefix.
    pub(super) async fn find_session(
        &self,
        prefix: &str,
    ) -> Result<Arc<OpenSession>, SessionRefusal> {
        let open = self.lock_known(prefix).await.and_then(|place| place.clone());
        open.ok_or_else(|| no_session(prefix))
    }

    /// Opens a session anew with more values of the run. Only before its first call.
    pub(super) async fn add_vars(
        &self,
        prefix: &str,
        added: &serde_json::Map<String, Value>,
    ) -> Result<Arc<OpenSession>, SessionRefusal> {
        let mut place = self.lock_known(prefix).await.ok_or_else(|| no_session(prefix))?;
        let open = place.clone().ok_or_else(|| no_session(prefix))?;
        if open.call_count() > 0 {
            let text = "the session has had a call: values of the run are given before the first";
            return Err(SessionRefusal::new(StatusCode::CONFLICT, text));
        }
        let request = open
            .session_request
            .with_vars(added)
            .map_err(|error| SessionRefusal::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        // Refused before the session is touched.
        self.strictness
            .admit_uncounted("vars of a session")
            .map_err(|why| SessionRefusal::new(StatusCode::FORBIDDEN, why.to_string()))?;
        if let Some(close) = open.end_within(Duration::ZERO).await {
            let failed = |why| SessionRefusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
            close(false).await.map_err(failed)?;
        }
        *place = None;
        let opened = self.ask_host(&request).await;
        let session = opened.inspect_err(|_| self.remove_slot(prefix))?;
        let session = Arc::new(OpenSession::new(session, request));
        *place = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Ends the session of a prefix. `keep` says whether to keep what it recorded.
    pub(super) async fn end_session(
        &self,
        prefix: &str,
        keep: bool,
    ) -> Result<SessionEnd, SessionRefusal> {
        let mut place = self.lock_known(prefix).await.ok_or_else(|| no_session(prefix))?;
        let session = place.take().ok_or_else(|| no_session(prefix))?;
        // From here on, a call with the prefix finds no session.
        self.remove_slot(prefix);
        drop(place);
        let close = session.end_within(GRACE).await.ok_or_else(|| no_session(prefix))?;
        let closed = close(keep).await;
        let report = report_of(&session).await;
        self.change_totals(|totals| {
            totals.calls += session.call_count();
            totals.add_ended(&session.info, &report, closed.as_ref().err());
        });
        let failed = |why: String| SessionRefusal::new(StatusCode::UNPROCESSABLE_ENTITY, why);
        Ok(SessionEnd { kept: closed.map_err(failed)?, session, report })
    }

    /// Returns the sessions that are open and not being opened or ended.
    pub(super) async fn open_sessions(&self) -> Vec<Arc<OpenSession>> {
        let slots: Vec<_> = self.lock_open().values().cloned().collect();
        let mut sessions = Vec::new();
        for slot in slots {
            sessions.extend(slot.0.lock().await.clone());
        }
        sessions
    }

    /// Returns the open sessions, for a control call.
    pub(super) async fn to_json(&self) -> Value {
        let mut sessions = self.open_sessions().await;
        sessions.sort_by(|a, b| a.info.prefix.cmp(&b.info.prefix));
        let open = sessions.iter().map(|session| {
            let mut shown = session.info.to_json();
            let idle = u64::try_from(session.idle_time().as_millis()).unwrap_or(u64::MAX);
            shown["idle_ms"] = idle.into();
            shown["calls"] = session.call_count().into();
            shown
        });
        let open: Value = open.collect();
        json!({
            "version": VERSION,
            "open": open,
            "ended": self.totals().ended,
            "limit": MOST_OPEN,
        })
    }
}

/// Returns the report of a session.
pub(super) async fn report_of(session: &OpenSession) -> SessionReport {
    let report = Arc::clone(&session.report);
    blocking::run_blocking(move || report()).await
}

fn no_session(prefix: &str) -> SessionRefusal {
    let text = format!("no session is open for the prefix {prefix:?}");
    SessionRefusal::new(StatusCode::NOT_FOUND, text)
}
