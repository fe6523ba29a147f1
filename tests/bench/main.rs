//! The benchmark: compares loomrec with bare servers and its peers, each in a process of its own.
//!
//! Run it with `scripts/bench`. It measures and prints. It fails if an answer of loomrec is not the
//! expected one, but never because of a time.

mod bare;
mod child;
mod client;
mod collect;
mod conversation;
mod fault;
mod growth;
mod http2_client;
mod key;
mod keyed;
mod load;
mod machine;
mod page;
mod pass;
mod peer;
mod plan;
mod quantile;
mod role;
mod round;
mod sample;
mod socket;
mod start;
mod system;
mod table;
mod target;
mod tls;
mod transport;
mod usage;
mod verify;
mod watch;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fault::Fault;
use plan::Scale;
use role::Writes;
use sample::Kind;
use table::Findings;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // Cargo adds `--bench` to the given arguments.
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            say(&format!("bench: failed to {fault}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the role that the first argument names: one of the bare systems, or else the whole
/// benchmark.
fn run(words: &[&str]) -> Result<(), Fault> {
    let unknown = || Fault::Usage { words: words.join(" ") };
    let kind = |word: &str| Kind::of(word).ok_or_else(unknown);
    match words {
        ["bare", word] => bare::run(kind(word)?, Writes::Queued),
        ["bare-tls", word, file] => bare::run_tls(kind(word)?, Path::new(file)),
        ["flat", word] => bare::run(kind(word)?, Writes::Flat),
        ["keyed", word] => keyed::run(kind(word)?),
        ["load", file, port] => keyed::load(Path::new(file), port.parse().map_err(|_| unknown())?),
        [collect::WORD] => collect::run(),
        ["pass", origin] => pass::run(origin, None),
        [socket::ECHO] => socket::serve(None),
        [socket::PASS, origin] => socket::serve(Some(origin)),
        ["tee", origin, file] => pass::run(origin, Some(Path::new(file))),
        options => drive(scale(options).ok_or_else(unknown)?),
    }
}

/// Parses the options into the scale of the run.
fn scale(options: &[&str]) -> Option<Scale> {
    let mut scale = if options.contains(&"--quick") { Scale::quick() } else { Scale::full() };
    // Partial runs and comparisons with an earlier loomrec do not go on the page.
    if child::Launch::has_earlier() {
        scale = scale.compared();
    }
    let mut options = options.iter();
    while let Some(option) = options.next() {
        // A partial run is not kept as a measurement.
        scale.writes = false;
        match *option {
            "--quick" => {}
            "--no-peers" => scale.peers = false,
            "--only" => scale.only = options.next()?.split(',').map(str::to_owned).collect(),
            "--rounds" => {
                scale.rounds = options.next()?.parse().ok().filter(|some| *some > 0)?;
                // All requested rounds are run, however long they take.
                scale.patience = Duration::MAX;
            }
            _ => return None,
        }
    }
    Some(scale)
}

/// Runs everything, prints the findings and writes them to their page.
fn drive(scale: Scale) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Fault::Io { what: "start the runtime", source })?;
    // A benchmark that is told to stop leaves no process and no file behind.
    let findings = runtime.block_on(async {
        tokio::select! {
            findings = findings(&scale) => findings,
            stopped = stopped() => Err(stopped),
        }
    })?;
    let peers = if scale.peers { table::versions() } else { String::new() };
    let machine = format!("{}{peers}", machine::describe());
    let text = table::render(&machine, |name| scale.wants(name), &findings);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| Fault::Io { what: "print the findings", source })?;
    if scale.writes {
        page::put(&text)?;
    }
    let ours = |outcome: &round::Outcome| {
        let lost = outcome.results.iter().find(|(system, own)| system.is_ours() && own.is_err());
        lost.and_then(|(system, own)| Some((*system, own.as_ref().err()?.clone())))
    };
    // The other findings were worth printing, but the run as a whole has failed.
    match findings.outcomes.iter().find_map(ours) {
        Some((system, detail)) => Err(Fault::Child { name: system.name(), detail }),
        None => Ok(()),
    }
}

/// Runs every part that was selected, one after another.
async fn findings(scale: &Scale) -> Result<Findings, Fault> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .map_err(|source| Fault::Io { what: "make a folder", source })?;
    let folder = folder.path();
    let mut findings = Findings::default();
    if scale.wants(key::NAME) {
        findings.keys = key::run();
    }
    for workload in scale.workloads() {
        findings.outcomes.extend(round::run(workload, scale, folder).await?);
    }
    if scale.wants(growth::NAME) {
        findings.growth = Some(growth::run(scale, folder).await?);
    }
    if scale.wants(start::NAME) {
        findings.starts = start::run(scale, folder).await?;
    }
    if scale.wants(verify::NAME) {
        findings.verified = Some(verify::run(scale, folder).await?);
    }
    if scale.wants(conversation::NAME) {
        findings.compared = Some(conversation::run(scale, folder)?);
    }
    if scale.wants(socket::NAME) {
        findings.sockets = Some(socket::run(scale, folder).await?);
    }
    Ok(findings)
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

/// Prints a line of progress, or the error, to stderr.
fn say(text: &str) {
    // A closed stderr is not a failure.
    drop(writeln!(std::io::stderr(), "{text}"));
}
