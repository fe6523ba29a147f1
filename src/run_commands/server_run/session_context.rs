//! The context of a session: that of its run, with counters, values and a recording of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::session_terms::SessionTerms;
use super::{RunContext, RunResult};
use crate::args::ServeArgs;
use crate::progress::RunProgress;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup;
use loomrec_cli::wrapped_command::{CommandEnvironment, EnvironmentSource, StandInKeys};
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_proxy::guard::GuardReport;
use loomrec_proxy::server::Proxy;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;

impl RunContext {
    /// Returns the context of a session with these flags.
    ///
    /// # Errors
    /// A value of the run that is invalid.
    pub fn for_session(
        &self,
        args: &ServeArgs,
        recording: &RecordingLocation,
        session: SessionTerms,
    ) -> Result<Self, CommandFailure> {
        let run_values = serve_setup::run_values(&args.run_values, &self.current)?;
        let counters = RunCounters::default();
        Ok(Self {
            current: Arc::clone(&self.current),
            address: self.address,
            tls: None,
            authority: None,
            public_url: self.public_url.clone(),
            access: self.access.clone(),
            upstreams: self.upstreams.clone(),
            bridges: self.bridges.clone(),
            redactor: Arc::clone(&self.redactor),
            run_values,
            key_variables: self.key_variables.clone(),
            preset: self.preset.clone(),
            step_header: self.step_header.clone(),
            counters: Arc::new(counters),
            session_counters: None,
            metrics: Arc::clone(&self.metrics),
            output: self.output.clone(),
            progress: RunProgress::Hidden,
            cost_limit: self.cost_limit.clone(),
            recent_misses: Arc::default(),
            recordings: vec![recording.clone()],
            clock: Arc::clone(&self.clock),
            session,
        })
    }

    /// Returns the variables that point SDKs to `origin`.
    pub fn sdk_variables(
        &self,
        args: &ServeArgs,
        origin: &str,
        stand_in_keys: &StandInKeys,
    ) -> Vec<(String, String)> {
        let mut environment = self.command_environment(args, origin, stand_in_keys);
        self.add_bridges(args, &mut environment);
        environment.variables
    }

    /// Returns the result of a session so far, for its receipt.
    pub fn session_result(&self, proxy: &Arc<Proxy>, budget: Option<RecoveryBudget>) -> RunResult {
        let environment = CommandEnvironment::from_source(&EnvironmentSource {
            origin: "",
            current: &BTreeMap::new(),
            skip: &[],
            stand_in_keys: &StandInKeys::None,
            single: false,
            known: &[],
        });
        RunResult {
            proxy: Arc::clone(proxy),
            replay: proxy.engine.replay_engine().cloned(),
            upstreams: self.upstreams.clone(),
            environment,
            cmd: None,
            budget,
            hosts: GuardReport::default(),
            sessions: None,
            _threads: None,
        }
    }
}
