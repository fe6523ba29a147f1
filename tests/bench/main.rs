//! The load benchmark: loomrec beside bare servers, each in a process of its own.
//!
//! Run it with `scripts/bench`. It measures and prints; it asserts nothing about
//! time. It fails where an answer is not the one that was asked for.

mod bare;
mod child;
mod client;
mod fault;
mod load;
mod machine;
mod pass;
mod plan;
mod role;
mod round;
mod sample;
mod table;

use std::io::Write as _;
use std::process::ExitCode;

use fault::Fault;
use plan::Scale;
use tokio::signal::unix::{SignalKind, signal};

/// What this process is to do.
enum Task {
    /// Drive the whole benchmark.
    Drive(Scale),
    /// Be the bare server.
    Bare,
    /// Be the pass-through in front of this origin.
    Pass(String),
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = task(&words).and_then(|task| match task {
        Task::Drive(scale) => drive(scale),
        Task::Bare => bare::run(),
        Task::Pass(origin) => pass::run(&origin),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            say(&format!("bench: failed to {fault}"));
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line.
fn task(words: &[String]) -> Result<Task, Fault> {
    // Cargo adds `--bench` to whatever it is given.
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    match words.as_slice() {
        [] => Ok(Task::Drive(Scale::full())),
        ["--quick"] => Ok(Task::Drive(Scale::quick())),
        ["bare"] => Ok(Task::Bare),
        ["pass", origin] => Ok(Task::Pass((*origin).to_owned())),
        _ => Err(Fault::Usage { words: words.join(" ") }),
    }
}

/// Runs every workload and prints the table.
fn drive(scale: Scale) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Fault::Io { what: "start the runtime", source })?;
    // A benchmark that is told to stop leaves no process and no file behind.
    let results = runtime.block_on(async {
        tokio::select! {
            results = round::all(scale) => results,
            stopped = stopped() => Err(stopped),
        }
    })?;
    let text = table::render(scale, &machine::describe(), &results);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| Fault::Io { what: "print the table", source })
}

/// Returns once a signal asks this process to end.
async fn stopped() -> Fault {
    let failed = |source| Fault::Io { what: "watch signals", source };
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    match (interrupt, terminate) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            Fault::Stopped
        }
        (Err(error), _) | (_, Err(error)) => failed(error),
    }
}

/// A line of progress, or the error, on stderr.
fn say(text: &str) {
    // A stderr that is gone is no reason to fail.
    drop(writeln!(std::io::stderr(), "{text}"));
}
