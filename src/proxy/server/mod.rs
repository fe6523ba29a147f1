//! The server: accepts connections, places each request, has an engine answer it.
//!
//! [`run`] owns nothing but its connections: the caller gives the bound listener
//! and the signal to stop, so tests bind port 0 and commands decide when to end.

mod accept;
pub mod access;
mod authority;
mod connection_activity;
mod connection_context;
pub mod control;
mod control_access;
mod cors;
mod exchange_report;
mod exchange_slot;
pub mod fault;
pub mod file_inspector;
pub mod handler;
mod inspector_route;
pub mod limit;
mod miss_sink;
mod notice;
mod open_call;
mod refused_connection;
mod request_body;
pub mod respond;
mod response_control;
mod server_threads;
mod side_poll;
pub mod socket;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use http::HeaderName;

use crate::inspector::Inspector;
use crate::inspector::run::RunView;
use crate::telemetry::Telemetry;
use crate::telemetry::call_record::CallRecord;
pub use accept::run;
use access::AccessPolicy;
pub use exchange_report::report_exchange;
use fault::FaultContext;
use limit::ConnectionLimit;
use loomrec_engine::Engine;
use loomrec_engine::observe::RequestObserver;
use loomrec_engine::route::RouteTable;
use loomrec_recording::redact::Redactor;
pub use miss_sink::miss_sink;
pub use notice::{OnNotice, UserNotice};
pub use server_threads::ServerThreads;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What may call, and by which names.
    pub access: AccessPolicy,
    /// How long a client may keep a request's head or body waiting, and its connection idle.
    pub client_timeout: Duration,
    /// Request bodies above this many bytes are refused.
    pub max_body: usize,
    /// Lets callers that are not on this machine use the control paths.
    pub control_token: Option<String>,
    /// The header that names a call's step where [`STEP_HEADER`](loomrec_engine::observe::STEP_HEADER) does not.
    pub step_header: Option<HeaderName>,
}

/// Everything a request needs.
pub struct Proxy {
    /// Behaviour.
    pub config: ServerConfig,
    /// How many connections there may be.
    pub connections: ConnectionLimit,
    /// Where requests go.
    pub routes: Arc<RouteTable>,
    /// What must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// What is made of a request before an engine has it.
    pub observer: RequestObserver,
    /// What answers calls.
    pub engine: Engine,
    /// What goes wrong on purpose.
    pub faults: Arc<FaultContext>,
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
    /// The run, as far as it is shown to people.
    pub(crate) fn view(&self) -> RunView<'_> {
        RunView {
            mode: self.engine.mode(),
            journal: &self.telemetry.journal,
            token_needed: self.config.control_token.is_some(),
            matcher: self.engine.replay().map(|replay| replay.matcher()),
            records: self.engine.record().is_some(),
            inspector: &self.inspector,
        }
    }

    /// Reports a call that is over, once. What is left in its place is of no use.
    pub(crate) fn call_over(&self, call: &mut CallRecord) {
        (self.notify)(UserNotice::Call(call));
        if let Some(exchange) = &call.exchange {
            let Telemetry { counters, metrics, .. } = &self.telemetry;
            report_exchange(exchange, counters, metrics, &self.notify);
        }
        self.telemetry.record(call);
    }
}
