//! Sessions: parts of a run that have a recording, counters, faults and a receipt of their own.
//!
//! The proxy of a server with sessions answers no call itself. A [`SessionTable`] finds the
//! session of a call by its prefix (`/@PREFIX/…`, or the header `x-loomrec-session`), takes the
//! prefix out of the request, and returns the connection as that session sees it. From there on the
//! call belongs to the session's own [`Proxy`]. A session is begun by its first call,
//! or by a control call of a test framework (`control`).

mod call_entry;
mod control;
mod drain;
mod endpoint;
mod expiry;
mod limits;
mod open_session;
mod request;
mod table;
mod totals;

use std::pin::Pin;
use std::sync::Arc;

use http::StatusCode;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Proxy;
use loomrec_engine::StrictAdmission;

pub(super) use call_entry::{take_control_prefix, take_session_path, whole_target};
pub(super) use control::{answer_request, health_fields};
pub(super) use endpoint::is_session_path;
pub use limits::{OutsideCalls, SessionJudge, SessionLimits};
pub(super) use open_session::{OpenSession, SessionLink};
pub use request::{SESSION_MEMBERS, SessionBegin, SessionMember, SessionMode, SessionRequest};
pub(super) use table::EntryRefusal;
pub use table::SessionTable;
pub use totals::{LeftSession, ListedSession, SessionTotals};

/// Returns the base URL of the calls with this prefix, for a server with this URL.
pub fn prefix_url(server: &str, prefix: &str) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    format!("{server}/@{}", utf8_percent_encode(prefix, &PLAIN))
}

/// A session as it is announced.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// The prefix of its calls.
    pub prefix: String,
    /// Its name, for people.
    pub name: String,
    /// Its recording.
    pub recording: String,
    /// What it does with calls.
    pub mode: SessionMode,
    /// Who began it.
    pub begun_by: SessionBegin,
    /// Whether the recording existed when the session began.
    pub exists: bool,
}

impl SessionInfo {
    /// Returns the session as control calls show it.
    pub fn to_json(&self) -> Value {
        json!({
            "prefix": self.prefix,
            "name": self.name,
            "recording": self.recording,
            "mode": self.mode.as_str(),
            "exists": self.exists,
        })
    }
}

/// The report of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionReport {
    /// The word for how it went.
    pub verdict: &'static str,
    /// How many connections to upstreams it opened.
    pub upstream_connections: u64,
    /// How long the answers of its served calls took when they were recorded, in milliseconds.
    pub recorded_ms: f64,
    /// What is wrong. Empty for a good session.
    pub complaints: Vec<String>,
    /// The receipt as JSON.
    pub receipt: Value,
    /// The receipt as people read it.
    pub summary: String,
}

/// The result of closing a session: whether its recording was written.
pub type CloseResult = Result<bool, String>;

/// Closes a session. The argument says whether to keep what was recorded.
pub type CloseSession =
    Box<dyn FnOnce(bool) -> Pin<Box<dyn Future<Output = CloseResult> + Send>> + Send>;

/// Returns the report of a session. Reads files, so it blocks.
pub type ReportSession = Arc<dyn Fn() -> SessionReport + Send + Sync>;

/// A session that was opened.
pub struct OpenedSession {
    /// What it is.
    pub info: SessionInfo,
    /// Answers its calls.
    pub proxy: Arc<Proxy>,
    /// Closes it.
    pub close: CloseSession,
    /// Reports it.
    pub report: ReportSession,
}

/// Why a session cannot be begun, or ended.
#[derive(Clone, Debug)]
pub struct SessionRefusal {
    /// The status for a control call.
    pub status: StatusCode,
    /// The reason, for people.
    pub message: String,
}

impl SessionRefusal {
    /// Creates a refusal.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

/// What the command line does for sessions.
pub trait SessionHost: Send + Sync {
    /// Opens a session whose request was let through. Reads files, so it blocks.
    ///
    /// # Errors
    /// What is wrong with the request, or with the recording.
    fn open(
        &self,
        request: &SessionRequest,
        admission: StrictAdmission,
    ) -> Result<OpenedSession, SessionRefusal>;

    /// Returns the variables that point SDKs to loomrec, with this prefix.
    fn client_variables(&self, prefix: Option<&str>) -> Vec<(String, String)>;

    /// Returns the URL under which clients reach the server.
    fn server_url(&self) -> String;
}
