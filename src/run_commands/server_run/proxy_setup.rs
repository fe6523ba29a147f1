//! The proxy of a run, or of one of its sessions.

use std::path::PathBuf;
use std::sync::Arc;

use super::shared_run::{ProxyRole, SharedRun};
use super::{RunContext, RunEngines, server_config};
use crate::args::ServeArgs;
use loomrec_engine::RunStrictness;
use loomrec_proxy::inspector::Inspector;
use loomrec_proxy::server::Proxy;
use loomrec_proxy::server::fault::FaultContext;
use loomrec_telemetry::aimock_journal::AimockJournal;
use loomrec_telemetry::{SessionCalls, Telemetry};

impl RunContext {
    /// Creates the proxy that answers calls with these engines.
    pub fn proxy(
        &self,
        args: &ServeArgs,
        engines: RunEngines,
        shared: &SharedRun,
        role: ProxyRole<'_>,
    ) -> Proxy {
        let observer = engines.observer(&self.redactor, args);
        let observer = observer.with_addresses(self.upstreams.routes.addresses());
        let (rules, has_fault) = (engines.rules(), engines.has_declared_fault());
        let recordings: Vec<PathBuf> =
            self.recordings.iter().map(|at| at.display().to_string().into()).collect();
        let faults = FaultContext::new(engines.decider, rules, has_fault);
        let (session_calls, run_counters, strictness) = match role {
            ProxyRole::Run => (None, None, Arc::clone(&shared.strictness)),
            ProxyRole::Session(name, run) => {
                let strictness = Arc::new(RunStrictness::for_session(&shared.strictness));
                (Some(SessionCalls::new(name)), Some(run), strictness)
            }
        };
        let observer = if session_calls.is_some() { observer.with_small_cache() } else { observer };
        Proxy {
            config: server_config(args, shared, self.step_header.clone()),
            connections: Arc::clone(&shared.connections),
            routes: Arc::clone(&self.upstreams.routes),
            redactor: Arc::clone(&self.redactor),
            observer,
            engine: engines.engine,
            strictness,
            faults: Arc::new(match engines.budget {
                Some(_) => faults.observed(),
                None => faults,
            }),
            telemetry: Telemetry {
                counters: Arc::clone(&self.counters),
                run_counters,
                session_counters: self.session_counters.clone(),
                session_calls,
                metrics: Arc::clone(&self.metrics),
                journal: Arc::clone(&shared.journal),
                aimock: AimockJournal::default(),
                spans: Arc::clone(&shared.spans),
            },
            inspector: Inspector::new(recordings, engines.notice, Arc::clone(&self.recent_misses)),
            notify: self.notify(),
            clock: Arc::clone(&shared.clock),
        }
    }
}
