//! The upstreams that the faults of a run may name: those of its flags, and the MCP servers of CMD's
//! agent.

use super::super::fault::{self, PlannedFaults};
use super::RunContext;
use crate::args::ServeArgs;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::server_launchers::upstream_name;
use loomrec_cli::tool_servers::{AgentSettings, ConfiguredServer};

impl RunContext {
    /// Finds the upstreams that the faults of suites are to strike, and refuses a plan that names one
    /// which does not exist.
    ///
    /// # Errors
    /// A rule that would never apply for that reason.
    pub fn check_fault_upstreams(
        &self,
        planned: &mut PlannedFaults,
        args: &ServeArgs,
        goes_upstream: bool,
    ) -> Result<(), CommandFailure> {
        let servers = self.tool_servers(args, goes_upstream);
        fault::check_upstreams(planned, &self.upstreams.routes, servers.as_deref(), &self.output)
    }

    /// Returns the names, as upstreams, of the MCP servers over stdio in the settings of CMD's agent;
    /// `None` if calls of such servers do not go through this run.
    fn tool_servers(&self, args: &ServeArgs, goes_upstream: bool) -> Option<Vec<String>> {
        self.bridges.as_ref().filter(|_| goes_upstream)?;
        let project = std::env::current_dir().unwrap_or_default();
        let settings = AgentSettings::read(&project, &self.current, &args.cmd);
        let name = |server: &ConfiguredServer| {
            server.bridge_name().map_or_else(|| upstream_name(server), str::to_owned)
        };
        Some(settings.servers.iter().map(name).collect())
    }
}
