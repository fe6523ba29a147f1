//! The launchers of a run: which MCP servers in the settings of CMD's agent go through loomrec.

use std::io;
use std::path::Path;

use super::{RunContext, RunEngines};
use crate::args::ServeArgs;
use loomrec_cli::bridge_sockets::{BridgeSockets, FOLDER_VARIABLE, URL_VARIABLE};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::server_launchers::{
    LauncherTerms, check_servers, launch_remedy, upstream_name, write_launchers,
};
use loomrec_cli::tool_servers::{AgentSettings, ConfiguredServer};
use loomrec_cli::wrapped_command::CommandEnvironment;
use loomrec_engine::{Engine, Strictness};

/// The variable with the folders of programs.
const PATH_VARIABLE: &str = "PATH";

/// What leaves all servers to the agent.
const LEFT_OUT: &str = "--no-env PATH leaves all servers to the agent";

impl RunContext {
    /// Has the MCP servers in the settings of CMD's agent go through loomrec: all in a run that
    /// records, and in a replay those that the recording has.
    ///
    /// # Errors
    /// Under `--strict`, a server that the recording has and that would start.
    pub(super) fn add_launchers(
        &self,
        args: &ServeArgs,
        engines: &RunEngines,
        environment: &mut CommandEnvironment,
    ) -> Result<(), CommandFailure> {
        let Some(sockets) = &self.bridges else { return Ok(()) };
        let (Ok(project), Ok(own)) = (std::env::current_dir(), std::env::current_exe()) else {
            return Ok(());
        };
        // `loomrec mcp` is the command of its own run with faults.
        let is_wanted = args.cmd.first().is_some_and(|cmd| *cmd != *own);
        if !is_wanted || args.no_env.iter().any(|name| name == PATH_VARIABLE) {
            return Ok(());
        }
        let tell = |why: String| match engines.strictness {
            Strictness::Lenient => {
                self.output.warning(&why);
                Ok(())
            }
            _ => Err(CommandFailure::usage(format!("{why}; {LEFT_OUT}"))),
        };
        let settings = AgentSettings::read(&project, &self.current, &args.cmd);
        for unreadable in &settings.unreadable {
            self.output.warning(&format!(
                "MCP servers in settings that cannot be read do not go through loomrec: {unreadable}"
            ));
        }
        let mut launched = Vec::new();
        for check in check_servers(&settings.servers) {
            let (server, name) = (check.server, upstream_name(check.server));
            match check.obstacle {
                _ if !is_of_run(&engines.engine, &name) => {}
                None => launched.push(server),
                Some(obstacle) => tell(format!(
                    "the MCP server {} does not go through loomrec, since {obstacle}: {}",
                    server.name,
                    launch_remedy(server)
                ))?,
            }
        }
        if launched.is_empty() {
            return Ok(());
        }
        match self.write_launchers((sockets, &own), &launched, environment) {
            Ok(path) => {
                environment.variables.push((PATH_VARIABLE.to_owned(), path));
                let names: Vec<_> = launched.into_iter().map(upstream_name).collect();
                let names = names.join(", ");
                self.output.info(&format!("MCP servers that go through loomrec: {names}"));
                Ok(())
            }
            Err(error) => tell(format!(
                "MCP servers do not go through loomrec: failed to write their launchers: {error}"
            )),
        }
    }

    /// Writes the launchers. Returns the `PATH` that finds them.
    fn write_launchers(
        &self,
        (sockets, loomrec): (&BridgeSockets, &Path),
        servers: &[&ConfiguredServer],
        environment: &CommandEnvironment,
    ) -> io::Result<String> {
        let folder = sockets.create_launcher_folder()?;
        let url = environment.variables.iter().find(|(name, _)| name == URL_VARIABLE);
        let place = sockets.path().display().to_string();
        let mut variables = vec![(FOLDER_VARIABLE.to_owned(), place)];
        variables.extend(url.cloned());
        let terms = LauncherTerms { folder: &folder, loomrec, variables: &variables };
        write_launchers(&terms, servers)?;
        let before = self.current.get(PATH_VARIABLE).map_or("", String::as_str);
        Ok(format!("{}:{before}", folder.display()))
    }
}

/// Whether a run has the calls of a server: all if it sends calls upstream, else those that are
/// recorded.
fn is_of_run(engine: &Engine, name: &str) -> bool {
    let recorded = engine.replay_engine().map(|replay| replay.matcher());
    engine.goes_upstream()
        || recorded.is_some_and(|matcher| matcher.recorded_upstreams().any(|it| it == name))
}
