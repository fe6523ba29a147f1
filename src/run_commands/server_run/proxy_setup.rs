//! The proxy of a run, or of one of its sessions.

use std::path::PathBuf;
use std::sync::Arc;

use super::shared_run::{ProxyRole, SharedRun};
use super::{RunContext, RunEngines, server_config};
use crate::args::ServeArgs;
use loomrec_engine::RunStrictness;
use loomrec_fault::{DeclaredFaultName, Fault, FaultSource};
use loomrec_proxy::inspector::Inspector;
use loomrec_proxy::server::Proxy;
use loomrec_proxy::server::fault::{AnswerFaults, FaultContext};
use loomrec_telemetry::compat_journal::CompatJournal;
use loomrec_telemetry::{SessionCalls, Telemetry};

impl RunContext {
    /// Creates the proxy that answers calls with these engines.
    pub fn create_proxy(
        &self,
        args: &ServeArgs,
        engines: RunEngines,
        shared: &SharedRun,
        role: ProxyRole<'_>,
    ) -> Proxy {
        let observer =
            engines.create_observer(args).with_repository(self.run_values.repository_watch(args));
        let observer = observer.with_addresses(self.upstreams.routes.upstream_addresses());
        let (rules, declared) = (engines.miss_rules(), engines.declare_faults());
        let recordings: Vec<PathBuf> =
            self.recordings.iter().map(|at| at.display().to_string().into()).collect();
        let faults = FaultContext::new(engines.decider, rules, declared);
        let faults = match args.trouble.virtual_time {
            Some(tool_limit) => faults.in_virtual_time(tool_limit),
            None => faults,
        };
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
            redactor: engines.redactor,
            observer,
            engine: engines.engine,
            strictness,
            faults: Arc::new(match engines.budget {
                Some(_) => faults.with_journal_lines(),
                None => faults,
            }),
            telemetry: Telemetry {
                counters: Arc::clone(&self.counters),
                run_counters,
                session_counters: self.session_counters.clone(),
                session_calls,
                metrics: Arc::clone(&self.metrics),
                journal: Arc::clone(&shared.journal),
                compat: CompatJournal::default(),
                spans: Arc::clone(&shared.spans),
            },
            inspector: Inspector::new(recordings, engines.notice, Arc::clone(&self.recent_misses)),
            notify: self.notice_callback(),
            clock: Arc::clone(&shared.clock),
        }
    }
}

impl RunEngines {
    /// Declares the faults of recordings and scripts to the decider, so that each is judged as the
    /// faults of a plan are: one that never happens tested nothing.
    fn declare_faults(&self) -> AnswerFaults {
        let Some(replay) = self.engine.replay_engine() else { return AnswerFaults::default() };
        let mut found = AnswerFaults::default();
        let counters = self.decider.counters();
        let mut declare = |name: String, fault: Option<&Fault>| {
            found.are_declared = true;
            let Some(fault) = fault else { return };
            found.depend_on_answers |= fault.depends_on_answer();
            counters.declare(DeclaredFaultName {
                source: FaultSource::Entry,
                rule: Arc::from(name),
                kind: fault.name(),
                is_at_accept: false,
            });
        };
        if replay.matcher().has_declared_fault() {
            replay.matcher().faulty_takes().for_each(|take| declare(take.entry, take.fault));
        }
        for (name, declared) in replay.script().iter().flat_map(|script| script.declared_faults()) {
            declare(name, declared.rule().map(|rule| &rule.fault));
        }
        found
    }
}
