//! What the proxies of one server share.

use std::sync::Arc;

use loomrec_cli::CommandFuture;
use loomrec_engine::RunStrictness;
use loomrec_engine::clock::ArrivalClock;
use loomrec_proxy::server::access::AccessPolicy;
use loomrec_proxy::server::limit::ConnectionLimit;
use loomrec_proxy::server::session::SessionTable;
use loomrec_telemetry::journal::Journal;
use loomrec_telemetry::run_counters::RunCounters;
use loomrec_telemetry::span::Spans;

/// What the proxies of a server share.
#[derive(Clone)]
pub struct SharedRun {
    /// The journal.
    pub journal: Arc<Journal>,
    /// The spans.
    pub spans: Arc<Spans>,
    /// The access policy.
    pub access: AccessPolicy,
    /// The limit on connections.
    pub connections: Arc<ConnectionLimit>,
    /// Whether what clients ask for may weaken the replay.
    pub strictness: Arc<RunStrictness>,
    /// The clock of arrivals.
    pub clock: Arc<ArrivalClock>,
    /// The URL under which clients reach the server.
    pub origin: String,
    /// The variables that lead `https` connections to the guard, for the programs of a framework.
    pub guard: Vec<(String, String)>,
}

/// Creates the table of sessions for a run that begins.
pub type StartSessions = Box<dyn FnOnce(SharedRun) -> Arc<SessionTable> + Send>;

/// Reads the recordings of a hub again, and returns the number of their takes.
pub type ReadAgain = Box<dyn Fn() -> CommandFuture<'static, usize> + Send + Sync>;

/// The sessions of a run that begins.
pub struct RunSessions {
    /// Creates their table.
    pub start: StartSessions,
    /// Reads the recordings again that they share, if they can change.
    pub read_again: Option<ReadAgain>,
}

/// What a proxy is for.
pub enum ProxyRole<'a> {
    /// It answers the calls of the run.
    Run,
    /// It answers the calls of the session of this name. They also count for the run.
    Session(&'a str, Arc<RunCounters>),
}
