//! The folder for the sockets of `loomrec mcp`, and how CMD gets to know it.

use std::sync::Arc;

use super::RunContext;
use crate::args::ServeArgs;
use loomrec_cli::bridge_sockets::BridgeSockets;
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup::UpstreamSettings;
use loomrec_cli::wrapped_command::CommandEnvironment;
use loomrec_engine::tool_bridge::BridgeFolder;

impl RunContext {
    /// Creates the folder, if programs get the variables of this run, and has calls find the sockets in it.
    /// Without it, the run records and replays everything else.
    pub(super) fn start_bridges(
        has_clients: bool,
        upstreams: &mut UpstreamSettings,
        output: &Output,
    ) -> Option<Arc<BridgeSockets>> {
        let created = has_clients.then(BridgeSockets::create)?;
        let sockets = created.inspect_err(|error| {
            output.warning(&format!(
                "`loomrec mcp` cannot be used: no folder for its sockets: {error}"
            ));
        });
        let sockets = sockets.ok()?;
        Arc::make_mut(&mut upstreams.routes).bridges = Some(BridgeFolder::new(sockets.path()));
        Some(Arc::new(sockets))
    }

    /// Adds the variables by which `loomrec mcp` finds the run, and the environment before it.
    pub(super) fn add_bridges(&self, args: &ServeArgs, environment: &mut CommandEnvironment) {
        let Some(sockets) = &self.bridges else { return };
        let set = environment.variables.iter().chain(&environment.guard);
        let mut added = sockets.command_variables(set, &self.current);
        added.retain(|(name, _)| !args.no_env.contains(name));
        environment.variables.extend(added);
    }
}
