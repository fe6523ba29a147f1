//! The start-up measurement: the time from the start of a process to its first correct answer, and
//! its peak memory until then, by the size of what it loads.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::child::{Launch, Server, free_port};
use crate::fault::Fault;
use crate::load::{Amount, Load, Numbers};
use crate::peer::{Peer, Setting, Task};
use crate::plan::Scale;
use crate::quantile::median;
use crate::round;
use crate::sample::Kind;
use crate::system::{System, recording, replay_words};
use crate::transport::Transport;
use crate::usage;

/// Its name among the workloads.
pub const NAME: &str = "start";
/// The name of the bare server that loads a recording.
pub const LOADER: &str = "bare hyper, serde_json, map";
/// How many times each system is started.
const REPEATS: usize = 7;
/// How much longer than others the largest recording may take to be made.
const LARGE: u32 = 3;

/// The result of one start.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// The time until the first correct answer.
    pub ready: Duration,
    /// Its peak memory until then, in bytes.
    pub peak: u64,
}

/// The results with a recording of one size.
pub struct Sized {
    /// The number of calls in it.
    pub entries: usize,
    /// Its size in bytes. 0 if it could not be made.
    pub bytes: u64,
    /// The starts of each system, or why there were none.
    pub results: Vec<(&'static str, Result<Vec<Started>, String>)>,
}

impl Sized {
    /// Returns the starts of one system.
    pub fn of(&self, name: &str) -> &[Started] {
        let found = self.results.iter().find(|(other, _)| *other == name);
        found.and_then(|(_, starts)| starts.as_ref().ok()).map_or(&[], Vec::as_slice)
    }
}

/// Returns the median time, in seconds.
pub fn ready(starts: &[Started]) -> f64 {
    median(starts.iter().map(|start| start.ready.as_secs_f64()))
}

/// Returns the median peak, in bytes.
pub fn peak(starts: &[Started]) -> f64 {
    median(starts.iter().map(|start| start.peak as f64))
}

/// Starts every system with recordings of every size.
///
/// # Errors
/// A bare server that does not serve.
pub async fn run(scale: &Scale, folder: &Path) -> Result<Vec<Sized>, Fault> {
    let nowhere = Setting { folder, origin: "", kind: Kind::Call, authority: None };
    let origin = Server::start(System::Hyper.launch(&nowhere)?)?;
    let mut all = Vec::new();
    for (place, &entries) in scale.sizes.iter().enumerate() {
        crate::say(&format!("bench: start: {entries} entries"));
        let own = folder.join(format!("start-{entries}"));
        let mut sized = ours(scale, entries, origin.address(), &own).await?;
        // The medium size: large enough to show differences, small enough for all systems to
        // record.
        if scale.peers && place == 1 {
            for peer in [Peer::Llmposter, Peer::Aimock, Peer::Mitmdump, Peer::Wiremock] {
                let own = own.join(peer.name());
                let started = theirs(peer, scale, entries, origin.address(), &own).await;
                let name = System::Peer(peer, Task::Replay).name();
                if let Err(fault) = &started {
                    crate::say(&format!("bench: start: {fault}"));
                }
                sized.results.push((name, started.map_err(|fault| fault.to_string())));
            }
        }
        drop(std::fs::remove_dir_all(&own));
        all.push(sized);
    }
    Ok(all)
}

/// Measures the bare server that loads a recording and loomrec, in turn.
async fn ours(scale: &Scale, entries: usize, origin: &str, folder: &Path) -> Result<Sized, Fault> {
    folder_at(folder)?;
    let time = scale.making * LARGE;
    let made = round::make(System::Record, Kind::Call, entries, origin, folder, time).await;
    let (loader, replay) = (LOADER, System::Replay.name());
    if let Err(fault) = made {
        crate::say(&format!("bench: start: {fault}"));
        let reason = || Err(fault.to_string());
        return Ok(Sized {
            entries,
            bytes: 0,
            results: vec![(loader, reason()), (replay, reason())],
        });
    }
    let file = recording(folder);
    let bytes = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
    let mut results = vec![(loader, Ok(Vec::new())), (replay, Ok(Vec::new()))];
    for _ in 0..if entries > 50_000 { 3 } else { scale.rounds.min(REPEATS) } {
        for (name, result) in &mut results {
            let port = free_port()?;
            let listen = format!("127.0.0.1:{port}");
            let launch = match *name {
                LOADER => {
                    let words: [OsString; 3] =
                        ["load".into(), file.clone(), port.to_string().into()];
                    Launch::own(LOADER, words)?
                }
                _ => Launch::loomrec(replay, replay_words(&file, &listen)),
            };
            let started = start(Launch { port: Some(port), ..launch }, true).await;
            take(result, started);
        }
    }
    Ok(Sized { entries, bytes, results })
}

/// Measures a peer, with a recording that it made itself.
async fn theirs(
    peer: Peer,
    scale: &Scale,
    entries: usize,
    origin: &str,
    folder: &Path,
) -> Result<Vec<Started>, Fault> {
    folder_at(folder)?;
    let system = System::Peer(peer, Task::Replay);
    let recorder = System::Peer(peer, Task::Record);
    round::make(recorder, Kind::Call, entries, origin, folder, scale.making).await?;
    let mut starts = Vec::new();
    for _ in 0..3 {
        let at = Setting { folder, origin, kind: Kind::Call, authority: None };
        starts.push(start(system.launch(&at)?, system.is_exact()).await?);
    }
    Ok(starts)
}

/// Starts a process and makes the first recorded call.
async fn start(launch: Launch, exact: bool) -> Result<Started, Fault> {
    let system = launch.name;
    let began = Instant::now();
    let server = Server::start(launch)?;
    let load = Load {
        system,
        address: server.address().to_owned(),
        process: server.process(),
        kind: Kind::Call,
        exact,
        transport: Transport::Plain,
        is_reconnecting: false,
        connections: 1,
        warm_up: Duration::ZERO,
        amount: Amount { calls: 0, time: Duration::ZERO },
        numbers: Numbers::cycle(1),
    };
    load.run().await?;
    Ok(Started { ready: began.elapsed(), peak: usage::peak(server.process()) })
}

fn take(result: &mut Result<Vec<Started>, String>, started: Result<Started, Fault>) {
    match (started, &mut *result) {
        (Ok(started), Ok(starts)) => starts.push(started),
        (Err(fault), _) => {
            crate::say(&format!("bench: start: {fault}"));
            *result = Err(fault.to_string());
        }
        (Ok(_), Err(_)) => {}
    }
}

fn folder_at(folder: &Path) -> Result<(), Fault> {
    std::fs::create_dir_all(folder).map_err(|source| Fault::Io { what: "make a folder", source })
}
