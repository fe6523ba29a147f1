//! The server: accepts connections, routes each request, and has an engine answer it.
//!
//! [`start_server`] owns only its connections. The caller passes the bound listener and the signal
//! to stop, so that tests bind port 0 and commands decide when to end.

mod accept;
pub mod access;
mod after_http;
mod answer_call;
mod authority;
mod browser_request;
mod buffered_body;
mod call_refusal;
mod certificate_authority;
mod chaos_route;
mod client_header;
mod client_reset;
mod compat_request;
mod compat_route;
mod connection_activity;
mod connection_context;
mod connection_number;
mod connection_turn;
pub mod control;
mod control_access;
mod control_endpoint;
mod control_reply;
mod cors;
mod event_address;
mod exchange_report;
mod exchange_slot;
pub mod fault;
pub mod file_inspector;
mod half_close;
mod half_close_state;
pub mod handler;
mod http1_connection;
mod http2;
mod inspector_route;
mod interception;
mod keep_awake;
pub mod limit;
mod listener_tls;
mod miss_sink;
mod notice;
mod open_call;
mod open_connections;
mod peer;
mod protocol_upgrade;
mod read_call;
mod refused_connection;
mod request_body;
pub mod respond;
mod response_control;
mod sending;
mod served_address;
mod server_threads;
pub mod session;
mod side_poll;
pub mod socket;
mod tunnel_host;
mod unflushed_end;
mod unreadable_request;
mod user_authority;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;

use crate::inspector::Inspector;
use crate::inspector::run::RunView;
pub use accept::{ConnectionProxy, RunningServer, start_server};
use access::AccessPolicy;
pub use certificate_authority::{CertificateAuthority, CertificateError, certificate_pem};
pub use client_header::{CLIENT_HEADERS, ClientHeader};
pub use control_endpoint::{COMPAT_ENDPOINTS, CONTROL_ENDPOINTS, ControlEndpoint};
pub use exchange_report::report_exchange;
use fault::FaultContext;
pub use interception::{Interception, ListenerEntrance};
use limit::ConnectionLimit;
pub use listener_tls::{ListenerTls, ListenerTlsError, read_certificates};
use loomrec_engine::clock::ArrivalClock;
use loomrec_engine::observe::RequestObserver;
use loomrec_engine::route::RouteTable;
use loomrec_engine::{Engine, RunStrictness};
use loomrec_recording::redact::Redactor;
use loomrec_telemetry::Telemetry;
use loomrec_telemetry::call_record::CallRecord;
pub use miss_sink::miss_sink;
pub use notice::{OnNotice, UserNotice};
pub use open_connections::OpenConnections;
pub use server_threads::ServerThreads;

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Access policy: who may call the server, and under which host names.
    pub access: AccessPolicy,
    /// The URL under which clients reach the server.
    pub url: String,
    /// How long a client may keep a request's head or body waiting, and its connection idle.
    pub client_timeout: Duration,
    /// The most bytes of a request body. Larger ones are refused.
    pub max_body: usize,
    /// The token that lets callers on other machines use the control paths.
    pub control_token: Option<String>,
    /// The header that names a call's step if [`STEP_HEADER`](loomrec_engine::observe::STEP_HEADER)
    /// does not.
    pub step_header: Option<HeaderName>,
}

/// The state that all requests share.
pub struct Proxy {
    /// The configuration of the server.
    pub config: ServerConfig,
    /// The limit on connections.
    pub connections: Arc<ConnectionLimit>,
    /// The routes of requests to upstreams.
    pub routes: Arc<RouteTable>,
    /// Removes what must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// Parses and normalizes a request for the engine.
    pub observer: RequestObserver,
    /// Answers calls.
    pub engine: Engine,
    /// Whether what clients ask for may weaken the replay.
    pub strictness: Arc<RunStrictness>,
    /// The faults of the run.
    pub faults: Arc<FaultContext>,
    /// Counts calls and writes them to the journal.
    pub telemetry: Telemetry,
    /// What is kept for the inspector.
    pub inspector: Inspector,
    /// Callback for notices to the person at the terminal.
    pub notify: OnNotice,
    /// The last arrival time that was assigned, in microseconds since 1970. All sessions of a
    /// server share it.
    pub clock: Arc<ArrivalClock>,
}

impl Proxy {
    /// Returns the part of the run that the inspector shows.
    pub(crate) fn run_view(&self) -> RunView<'_> {
        RunView {
            mode: self.engine.mode_name(),
            journal: &self.telemetry.journal,
            token_needed: self.config.control_token.is_some(),
            matcher: self.engine.replay_engine().map(|replay| replay.matcher()),
            records: self.engine.record_engine().is_some(),
            inspector: &self.inspector,
        }
    }

    /// Reports a call that is over. Called once for each call. What is left in `call` is of no use.
    pub(crate) fn report_call(&self, call: &mut CallRecord) {
        (self.notify)(UserNotice::Call(call));
        if let Some(exchange) = &call.exchange {
            let Telemetry { counters, run_counters, metrics, .. } = &self.telemetry;
            report_exchange(exchange, counters, metrics, &self.notify);
            run_counters.iter().for_each(|run| _ = run.add_exchange(exchange));
        }
        if let Some(request) = call.journaled.take() {
            self.telemetry.compat.add_call(*request, call);
        }
        self.telemetry.record_call(call);
    }
}
