//! The `loomrec mcp` command: puts loomrec in front of a server of tools that speaks over stdio.

mod answer_lines;
mod bridge_listener;
mod declared_tools;
mod fault_run;
mod handshake_messages;
mod line_reader;
mod open_requests;
mod own_program;
mod run_client;
mod run_place;
mod stdio_bridge;
mod tool_answer;
mod tool_process;
mod tool_server;

use super::args::{LogFormat, McpArgs};
use declared_tools::DeclaredTools;
use loomrec_cli::exit::{CANNOT_RUN, CommandFailure, NOT_FOUND};
use loomrec_cli::output::Output;
use loomrec_engine::route::is_upstream_name;
use loomrec_provider::directory::KnownUpstream;
use own_program::own_program;
use run_place::RunPlace;

/// Runs the command.
///
/// # Errors
/// A name that is invalid or missing, faults within a run, a server that cannot be run.
pub async fn run(mut args: McpArgs) -> Result<u8, CommandFailure> {
    check_name(args.name.as_deref())?;
    if let Some(path) = &args.tools_from {
        let tools = DeclaredTools::from_file(path)?;
        if args.name.is_none() && !args.has_faults() {
            return tools.serve_stdio().await;
        }
        // A process of its own, as any other server.
        let own = own_program()?.into();
        args.server = vec![own, "mcp".into(), "--tools-from".into(), path.into()];
    }
    match RunPlace::find()? {
        Some(place) => {
            if args.has_faults() {
                return Err(CommandFailure::usage(
                    "this server belongs to a run of loomrec, whose faults strike its tools as \
                     well: give them to `loomrec record` or `loomrec replay`",
                ));
            }
            let name = args.name.as_deref().ok_or_else(|| {
                CommandFailure::usage(
                    "--name NAME is missing: it tells this server from others in recordings",
                )
            })?;
            let output = Output::new(LogFormat::Human, false, false);
            stdio_bridge::run(name, args.server, place, output).await
        }
        None if args.has_faults() => fault_run::run(&args).await,
        None => Err(replace_with_server(&args)),
    }
}

/// Runs the server in the place of this process. Returns only if that fails.
fn replace_with_server(args: &McpArgs) -> CommandFailure {
    let Some((program, arguments)) = args.server.split_first() else {
        return CommandFailure::usage("there is no server after --");
    };
    let mut command = std::process::Command::new(program);
    let error = loomrec_os::replace_process(command.args(arguments));
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RUN,
    };
    let name = program.to_string_lossy();
    CommandFailure::new(code, format!("failed to run {name}: {error}; check the name after --"))
}

/// Refuses a name that cannot be an upstream's, or is a provider's.
fn check_name(name: Option<&str>) -> Result<(), CommandFailure> {
    let Some(name) = name else { return Ok(()) };
    let why = match (is_upstream_name(name), KnownUpstream::find(name)) {
        (false, _) => "it takes letters, digits, and . _ -",
        (true, Some(_)) => "this is the name of a provider; choose another",
        (true, None) => return Ok(()),
    };
    Err(CommandFailure::usage(format!("--name {name}: {why}")))
}
