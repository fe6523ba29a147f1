//! The command line: flags and environment in, exit codes, messages and progress out. This crate
//! parses the command line, and holds what several commands share.

pub mod amount;
pub mod authority_files;
pub mod bridge_sockets;
pub mod command_definition;
pub mod exit;
mod held_messages;
pub mod journal_lines;
pub mod markdown;
pub mod output;
pub mod output_target;
pub mod pointer_trust;
pub mod preset;
pub mod preset_file;
pub mod prices;
pub mod pricing;
pub mod result_output;
pub mod serve_setup;
pub mod server_launchers;
pub mod set_aside;
pub mod settings;
pub mod short_key;
pub mod store_note;
pub mod table;
pub mod terminal;
pub mod tool_servers;
pub mod trust_store;
pub mod usage_hint;
pub mod user_folder;
pub mod waiting_recordings;
pub mod wrapped_command;

use std::pin::Pin;
use std::process::ExitCode;

use clap::FromArgMatches;

use loomrec_arguments as args;

use args::{Cli, Command, LogFormat};
use command_definition::{without_empty_variables, without_values_in_help};
use exit::{CommandFailure, UNEXPECTED, USAGE};
use output::Output;
use set_aside::StrictFlags;
use settings::{CommandLine, Settings};

/// A command that runs once it is awaited, with the exit code as its result.
pub type CommandFuture<'a, T = u8> = Pin<Box<dyn Future<Output = Result<T, CommandFailure>> + 'a>>;

/// The function that runs a command, with the settings and the definition of the command line.
pub type Dispatch = for<'a> fn(Command, &'a Settings, &'a clap::Command) -> CommandFuture<'a>;

/// Runs the command line of this process: parses it, and has `dispatch` run the command, with the
/// settings and the definition of the command line.
pub fn run(dispatch: Dispatch) -> ExitCode {
    let plain = args::command_line();
    let mut settings = match read_settings(&plain) {
        Ok(settings) => settings,
        Err(failure) => {
            // Help and version must work even if the settings file is invalid.
            let asked = without_empty_variables(plain).try_get_matches();
            if let Some(told) = asked.err().filter(|told| !told.use_stderr()) {
                told.exit();
            }
            return print_failure(&failure);
        }
    };
    let command = without_values_in_help(settings::into_command(&settings, plain.clone()));
    let command = without_empty_variables(command);
    let mut built = command.clone();
    let all = match built.try_get_matches_from_mut(std::env::args_os()) {
        Ok(matches) => matches,
        Err(error) => return refuse_with_hint(&error, &mut built, &settings),
    };
    settings.trust_given(&all);
    let strict = StrictFlags::from_matches(&plain, &all, &settings);
    let refused = strict.as_ref().map_or(Ok(()), StrictFlags::refuse_contradictions);
    if let Err(failure) = refused {
        return print_failure(&failure);
    }
    // Parsed again, so that a strict replay has nothing of what was set aside.
    let typed_only = strict.as_ref().map(|flags| flags.typed_only(command));
    let parsed = typed_only
        .map_or(Ok(all.clone()), |command| command.try_get_matches_from(std::env::args_os()));
    let read = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (mut cli, matches) = match read {
        Ok(read) => read,
        Err(error) => exit_with_error(&error, &settings),
    };
    let is_taken = |name: &str| !strict.as_ref().is_some_and(|flags| flags.takes_no_setting(name));
    add_up(&mut cli.command, &settings, is_taken);
    settings::add_default_recording(&mut cli.command, &matches, &settings);
    if let Command::Replay(args) = &mut cli.command {
        args.set_aside = strict.as_ref().map(StrictFlags::set_aside).unwrap_or_default();
    }
    if let Some((name, matches)) = matches.subcommand() {
        let line = CommandLine { definition: &plain, name, matches };
        if let Err(failure) = check_settings(&mut cli, &settings, &line) {
            return print_failure(&failure);
        }
    }
    execute_command(cli.command, &settings, &plain, dispatch)
}

/// Runs a command to its end, and returns the exit code of the process.
fn execute_command(
    command: Command,
    settings: &Settings,
    plain: &clap::Command,
    dispatch: Dispatch,
) -> ExitCode {
    let runtime = match start_runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let text = format!("failed to start the runtime: {error}");
            return print_failure(&CommandFailure::new(UNEXPECTED, text));
        }
    };
    let outcome = runtime.block_on(async {
        loomrec_os::survive_file_size_limit();
        dispatch(command, settings, plain).await
    });
    // Connections that ignored the stop signal end with the process.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let code = print_failure(&failure);
            if failure.code == USAGE {
                hint_at(settings);
            }
            code
        }
    }
}

/// Checks what the settings file asks for on this command line: files within the project, and
/// settings that need trust.
fn check_settings(
    cli: &mut Cli,
    settings: &Settings,
    line: &CommandLine<'_>,
) -> Result<(), CommandFailure> {
    let folder = std::env::current_dir().unwrap_or_default();
    settings::check_files(settings, line, &folder)?;
    settings::require_trust(&mut cli.command, settings, line)
}

/// Reads the project's settings file.
fn read_settings(command: &clap::Command) -> Result<Settings, CommandFailure> {
    let words: Vec<_> = std::env::args_os().collect();
    let folder = std::env::current_dir().unwrap_or_default();
    Settings::find(settings::named_file(&words).as_deref(), &folder, command)
}

/// Prints a hint for an invalid command line, if there is one, or else exits with its error.
fn refuse_with_hint(
    error: &clap::Error,
    command: &mut clap::Command,
    settings: &Settings,
) -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    match usage_hint::find(error, &words, command, settings) {
        Some(hint) => print_failure(&CommandFailure::usage(hint)),
        None => exit_with_error(error, settings),
    }
}

/// Exits with the error of an invalid command line, and names the settings file that it may come
/// from.
fn exit_with_error(error: &clap::Error, settings: &Settings) -> ! {
    if error.use_stderr() && settings.path.is_some() {
        let _ = error.print();
        hint_at(settings);
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Prints that a value may come from the settings file, if there is one.
fn hint_at(settings: &Settings) {
    if let Some(path) = &settings.path {
        let hint = format!("settings were read from {}; see loomrec config", path.display());
        Output::new(LogFormat::Human, false, false).info(&hint);
    }
}

/// Adds the rules and upstreams of the settings file to those that were given. If both have an
/// address for one upstream, the given one wins. `is_taken` says whether the settings of a flag
/// count.
fn add_up(command: &mut Command, settings: &Settings, is_taken: impl Fn(&str) -> bool) {
    let (name, upstream, lists) = match command {
        Command::Record(args) => lists_of("record", &mut args.serve),
        Command::Replay(args) => lists_of("replay", &mut args.serve),
        Command::Rerecord(args) => {
            ("rerecord", &mut args.upstream, vec![(&mut args.redact, "redact")])
        }
        Command::Import(args) => {
            let mut lists = rules_of(&mut args.identity);
            lists.push((&mut args.redact, "redact"));
            ("import", &mut args.upstream, lists)
        }
        Command::Redact(args) => {
            let rules =
                settings.find_setting("redact", "redact").map_or(&[][..], |entry| &entry.values);
            return args.redact.extend(rules.iter().cloned());
        }
        _ => return,
    };
    let of = |flag| settings.find_setting(name, flag).map_or(&[][..], |entry| &entry.values);
    let name_of = |text: &String| settings::upstream_name(text).map(str::to_owned);
    let given: Vec<_> = upstream.iter().map(name_of).collect();
    upstream.extend(of("upstream").iter().filter(|text| !given.contains(&name_of(text))).cloned());
    for (list, flag) in lists.into_iter().filter(|(_, flag)| is_taken(flag)) {
        list.extend(of(flag).iter().cloned());
    }
}

/// Returns the upstreams and rules of a command that serves.
fn lists_of<'a>(name: &'static str, serve: &'a mut args::ServeArgs) -> CommandLists<'a> {
    let args::ServeArgs { upstream, identity, access, .. } = serve;
    let mut lists = rules_of(identity);
    lists.extend([
        (&mut serve.redact, "redact"),
        (&mut serve.public_url, "public-url"),
        (&mut access.allow_origin, "allow-origin"),
    ]);
    (name, upstream, lists)
}

/// Starts the runtime, whose threads are the first of the process beside the main one.
fn start_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    serve_setup::read_local_time();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Returns the identity rules, with the names of their flags.
fn rules_of(identity: &mut args::IdentityArgs) -> Vec<(&mut Vec<String>, &'static str)> {
    vec![
        (&mut identity.ignore, "ignore"),
        (&mut identity.identity_header, "identity-header"),
        (&mut identity.credential_param, "credential-param"),
        (&mut identity.normalize, "normalize"),
    ]
}

/// A command's name, its upstreams, and its rules with the names of their flags.
type CommandLists<'a> =
    (&'static str, &'a mut Vec<String>, Vec<(&'a mut Vec<String>, &'static str)>);

/// Prints why a command failed, and returns its exit code.
fn print_failure(failure: &CommandFailure) -> ExitCode {
    Output::new(LogFormat::Human, false, false).error(&failure.message);
    failure.exit_code()
}
