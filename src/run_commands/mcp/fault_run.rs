//! A server of tools with faults, and without a recording: a replay that holds nothing, and sends each
//! call on to the server.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::FromArgMatches as _;

use super::own_program::own_program;
use crate::args::{self, Cli, Command, McpArgs, ReplayArgs};
use crate::replay::{self, ReplaySetup};
use crate::server_run::RunContext;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::serve_setup;

/// The name of a server that has none.
const UNNAMED_SERVER: &str = "mcp";

/// Runs a server with faults.
///
/// # Errors
/// A fault that is invalid; anything that keeps a run from starting.
pub(super) async fn run(args: &McpArgs) -> Result<u8, CommandFailure> {
    let name = args.name.as_deref().unwrap_or(UNNAMED_SERVER);
    let args = replay_args(name, args)?;
    let mut context = RunContext::read(&args.serve, &args.recordings, None)?;
    // So that a plan may name it.
    serve_setup::add_recorded(&mut context.upstreams, &BTreeSet::from([name.to_owned()]));
    // No call is recorded, so that no miss is worth a word.
    context.counters.hide_lenient_misses();
    let ReplaySetup::Parts(parts) = replay::load_setup(&args, &mut context)? else {
        return Err(CommandFailure::usage("--print-env is for `loomrec replay`"));
    };
    let ran = context.run(&args.serve, parts.engines, None).await?;
    Ok(ran.exit_code(0))
}

/// Returns the flags of the replay, whose command is this one within a run.
fn replay_args(name: &str, args: &McpArgs) -> Result<ReplayArgs, CommandFailure> {
    let own = own_program()?;
    let mut words: Vec<OsString> =
        ["loomrec", "replay", "--on-miss=forward", "--no-guard", "--quiet"].map(Into::into).into();
    let mut add = |flag: &str, value: OsString| {
        let mut word = OsString::from(format!("--{flag}="));
        word.push(value);
        words.push(word);
    };
    args.fault.iter().for_each(|text| add("fault", text.into()));
    args.faults.iter().for_each(|path| add("faults", path.into()));
    args.seed.iter().for_each(|seed| add("seed", seed.to_string().into()));
    words.extend([OsString::from("--"), own.into()]);
    words.extend(["mcp", "--name", name, "--"].map(OsString::from));
    words.extend(args.server.iter().cloned());
    // What the environment says is for runs with a recording.
    let definition = args::command_line()
        .mut_subcommand("replay", |replay| replay.mut_args(|arg| arg.env(None::<&str>)));
    let invalid = |error: clap::Error| CommandFailure::usage(error.to_string());
    let matches = definition.try_get_matches_from(words).map_err(invalid)?;
    match Cli::from_arg_matches(&matches).map_err(invalid)?.command {
        Command::Replay(args) => Ok(args),
        _ => Err(CommandFailure::new(UNEXPECTED, "failed to build the flags of a replay")),
    }
}
