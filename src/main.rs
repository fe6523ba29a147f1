//! loomrec, a proxy between a program and the LLM APIs it calls: it records every call exactly and
//! replays it strictly.
//!
//! This is the entry point of the binary, which names the function of each command. Everything else
//! is in members of the workspace, crates of their own in `src/NAME`. The compiler enforces what each
//! may import:
//!
//! | member | what lives there |
//! |---|---|
//! | `file_commands` | commands on files: they show, check, compare and change recordings and journals |
//! | `run_commands` | commands that answer, send or transfer calls |
//! | `cli` | what all commands share: parsing, settings, output, exit codes, setup of a server, the wrapped command |
//! | `arguments` | the definition of the command line: commands, flags, the types of their values |
//! | `proxy` | the server in front of the engines: connections, faults, control endpoints, the inspector |
//! | `telemetry` | what observes calls: the record of a finished call, counters, metrics, the journal, spans, the log |
//! | `engine` | a call and the engines that answer it: recorded from its upstream, or replayed |
//! | `script` | scripts: answers by call or by rule; answers in the form that a client needs |
//! | `remote` | recordings in object stores |
//! | `store` | recordings on disk: log, compaction, locks |
//! | `curation` | checking, comparing, merging, reviewing, showing, importing, exporting and repairing recordings |
//! | `recording` | entries, the file format, redaction, prices |
//! | `fault` | what can go wrong with an answer, at which calls, and how well a program recovers |
//! | `provider` | the wire shapes of providers: what a request asks for, what an answer says |
//! | `identity` | what makes two requests the same: exact JSON, canonical text, keys, rules, differences; names and text for people |
//! | `os` | what depends on the operating system: files, processes, signals, the terminal |

use std::process::ExitCode;

use loomrec_arguments::Command;
use loomrec_cli::CommandFuture;
use loomrec_cli::settings::Settings;
use loomrec_file_commands::{
    config, diff, edit, export, import, journal, ls, merge, noise, prune, redact, review, show,
    stats, trust, verify,
};
use loomrec_run_commands::commands as run;

/// Requests are handled on several threads: memory that one thread frees is taken by another. The
/// system's allocator is slow at this.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loomrec_cli::run(dispatch)
}

/// Runs a command. `line` is the definition of the command line.
fn dispatch<'a>(
    mut command: Command,
    settings: &'a Settings,
    line: &'a clap::Command,
) -> CommandFuture<'a> {
    Box::pin(async move {
        if let Command::Ls(args) = &command
            && let Some(code) = run::list(args).await?
        {
            return Ok(code);
        }
        if let Command::Merge(args) = &command
            && let Some(code) = run::merge_uploads(args).await?
        {
            return Ok(code);
        }
        run::localize(&mut command, settings).await?;
        match command {
            Command::Record(args) if args.prove => run::prove(&args, line).await,
            Command::Record(args) => run::record(args, settings).await,
            Command::Replay(args) => run::replay(args, settings).await,
            Command::Mcp(args) => run::mcp(args).await,
            Command::Ls(args) => ls::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Diff(args) => diff::run(&args),
            Command::Noise(args) => noise::run(&args),
            Command::Stats(args) => stats::run(&args),
            Command::Rerecord(args) => run::rerecord(&args).await,
            Command::Review(args) => review::run(&args).await,
            Command::Verify(args) => verify::run(&args),
            Command::Merge(args) => merge::run(&args),
            Command::Prune(args) => prune::run(&args),
            Command::Edit(args) => edit::run(&args),
            Command::Redact(args) => redact::run(&args),
            Command::Push(args) => run::push(&args, settings).await,
            Command::Pull(args) => run::pull(&args, settings).await,
            Command::Gc(args) => run::gc(&args).await,
            Command::Import(args) => import::run(&args),
            Command::Export(args) => export::run(&args),
            Command::Journal(args) if args.recovery.is_some() => run::score(&args),
            Command::Journal(args) => journal::run(&args),
            Command::Ui(args) => run::ui(&args).await,
            Command::Trust(args) => trust::run(&args, settings, line),
            Command::Config(args) => config::run(&args, settings, line),
            Command::Doctor(args) => run::doctor(&args, settings).await,
            Command::Demo(args) => run::demo(args).await,
        }
    })
}
