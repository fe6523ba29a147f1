//! The server: accepts connections, places each request, has an engine answer it.
//!
//! [`run`] owns nothing but its connections: the caller gives the bound listener
//! and the signal to stop, so tests bind port 0 and commands decide when to end.

mod accept;
pub mod access;
mod authority;
mod call_tracker;
pub mod clock;
mod connection_activity;
mod connection_context;
pub mod control;
mod control_access;
mod cors;
mod credential;
pub mod fault;
pub mod file_inspector;
pub mod handler;
mod head_cache;
mod incoming_call;
mod inspector_route;
pub mod limit;
mod live_call;
pub mod observe;
mod parsed_request;
mod refused_connection;
mod request_body;
mod request_cache;
pub mod respond;
pub mod route;
mod script;
mod side_poll;
pub mod socket;
mod stream;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use http::HeaderName;

use crate::inspector::Inspector;
use crate::inspector::run::RunView;
use crate::record::RecordEngine;
use crate::recording::redact::Redactor;
use crate::replay::{MissedRequests, RecordingMismatchError, ReplayEngine};
use crate::telemetry::Telemetry;
use crate::telemetry::call_record::CallRecord;
use crate::upstream::UpstreamClient;
pub use accept::run;
use access::AccessPolicy;
use fault::FaultContext;
use limit::ConnectionLimit;
use observe::RequestObserver;
use route::RouteTable;

/// What a call without a recorded answer gets.
#[derive(Clone, Debug)]
pub enum OnMiss {
    /// A mismatch error.
    Error,
    /// The placeholder answer.
    Default,
    /// The live upstream's answer, not recorded.
    Forward(UpstreamClient),
}

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What may call, and by which names.
    pub access: AccessPolicy,
    /// How long a client may keep a request's head or body waiting, and its connection idle.
    pub client_timeout: Duration,
    /// Request bodies above this many bytes are refused.
    pub max_body: usize,
    /// Pass the client's own `accept-encoding` on, instead of `identity`.
    pub keep_encoding: bool,
    /// Lets callers that are not on this machine use the control paths.
    pub control_token: Option<String>,
    /// The header that names a call's step where [`observe::STEP_HEADER`] does not.
    pub step_header: Option<HeaderName>,
}

/// Something the person at the terminal should hear of at once.
#[derive(Debug)]
pub enum UserNotice<'a> {
    /// A call without a recorded answer.
    Missed(&'a RecordingMismatchError),
    /// An upstream gave no answer, or a request could not be placed or was too large.
    Refused(&'a str),
    /// An exchange could not be kept; said once for each reason.
    Unkept(&'a str),
    /// Something that is well again, or was put right, and is worth knowing.
    Warning(&'a str),
    /// A call is over.
    Call(&'a CallRecord),
    /// An exchange was kept, but not whole: it will not be replayed.
    Incomplete(&'a str),
}

/// Told of every [`UserNotice`].
pub type OnNotice = Arc<dyn Fn(UserNotice<'_>) + Send + Sync>;

/// Everything a request needs.
pub struct Proxy {
    /// Behaviour.
    pub config: ServerConfig,
    /// How many connections there may be.
    pub connections: ConnectionLimit,
    /// Where requests go.
    pub routes: RouteTable,
    /// What must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// What is made of a request before an engine has it.
    pub observer: RequestObserver,
    /// The recording engine, where this run records.
    pub recorder: Option<Arc<RecordEngine>>,
    /// The replaying engine, where this run replays.
    pub replayer: Option<ReplayEngine>,
    /// What a miss gets, where this run does not record it.
    pub on_miss: OnMiss,
    /// Where requests without a recorded answer are kept, where they are.
    pub missed: Option<Arc<MissedRequests>>,
    /// What goes wrong on purpose.
    pub faults: FaultContext,
    /// Whoever counts calls, or writes them down.
    pub telemetry: Telemetry,
    /// What is kept for those who look at the run in a browser.
    pub inspector: Inspector,
    /// Told at once of what went wrong.
    pub notify: OnNotice,
    /// The last arrival time given out, in microseconds since 1970.
    pub clock: AtomicI64,
}

impl Proxy {
    /// What the run does, in a word.
    pub fn mode(&self) -> &'static str {
        match (&self.recorder, &self.replayer) {
            (Some(_), Some(_)) => "new_episodes",
            (Some(_), None) => "record",
            (None, _) => "replay",
        }
    }

    /// The run, as far as it is shown to people.
    pub(crate) fn view(&self) -> RunView<'_> {
        RunView {
            mode: self.mode(),
            journal: &self.telemetry.journal,
            token_needed: self.config.control_token.is_some(),
            matcher: self.replayer.as_ref().map(|replayer| replayer.matcher()),
            records: self.recorder.is_some(),
            inspector: &self.inspector,
        }
    }

    /// A call is over: everybody who counts or writes down calls learns of it here, once.
    /// What is left in its place is of no use.
    pub(crate) fn call_over(&self, call: &mut CallRecord) {
        (self.notify)(UserNotice::Call(call));
        self.telemetry.record(call);
    }
}
