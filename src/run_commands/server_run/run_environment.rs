//! The environment of CMD.

use super::{RunContext, RunEngines};
use crate::args::ServeArgs;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::wrapped_command::{CommandEnvironment, EnvironmentSource, StandInKeys};

impl RunContext {
    /// Returns the environment of a command.
    pub(super) fn command_environment(
        &self,
        args: &ServeArgs,
        origin: &str,
        stand_in_keys: &StandInKeys,
    ) -> CommandEnvironment {
        let routes = &self.upstreams.routes;
        let environment = CommandEnvironment::from_source(&EnvironmentSource {
            origin,
            current: &self.current,
            skip: &args.no_env,
            stand_in_keys,
            single: routes.single.is_some() || routes.unnamed,
            known: &self.upstreams.given,
        });
        if args.run_values.has_no_preset() {
            return environment;
        }
        environment.with_agents(self.preset.as_deref(), &self.current, &args.no_env)
    }

    /// Returns the environment of CMD, with the variables of the guard.
    pub(super) fn environment_of_run(
        &self,
        args: &ServeArgs,
        engines: &RunEngines,
        origin: &str,
        guarded: Vec<(String, String)>,
    ) -> Result<CommandEnvironment, CommandFailure> {
        let mut environment = self.command_environment(args, origin, &engines.stand_in_keys);
        environment.guard = guarded;
        self.add_launchers(args, engines, &mut environment)?;
        self.add_bridges(args, &mut environment);
        Ok(environment)
    }
}
