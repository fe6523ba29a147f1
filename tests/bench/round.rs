//! The rounds of a workload: all systems take turns again and again, so that a disturbance of the
//! machine affects all of them alike.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

use crate::child::{Launch, Server};
use crate::collect;
use crate::fault::Fault;
use crate::load::{Amount, Load, Numbers, Sample};
use crate::peer::{Setting, Task};
use crate::plan::{Scale, Workload};
use crate::sample::Kind;
use crate::system::System;
use crate::transport::Transport;
use crate::watch::{Watch, Watcher};

/// How many connections are used to make a recording.
const MAKERS: usize = 32;

/// The results of one workload at one number of connections.
pub struct Outcome {
    /// The workload.
    pub workload: Workload,
    /// The number of open connections.
    pub connections: usize,
    /// The results of each of its systems.
    pub results: Vec<(System, Result<Vec<Sample>, String>)>,
}

impl Outcome {
    /// Returns the samples of a system. Empty if it was left out.
    pub fn of(&self, system: System) -> &[Sample] {
        let found = self.results.iter().find(|(other, _)| *other == system);
        found.and_then(|(_, samples)| samples.as_ref().ok()).map_or(&[], Vec::as_slice)
    }
}

/// A system that takes part, with a folder of its own.
struct PreparedSystem {
    system: System,
    folder: PathBuf,
    /// `None` if a new process is started for every round.
    server: Option<Server>,
    numbers: Arc<Numbers>,
}

/// A workload that is being measured.
struct WorkloadRun<'a> {
    workload: Workload,
    scale: &'a Scale,
    origin: Server,
    /// The certificate of the upstream's authority, if it uses TLS.
    authority: Option<PathBuf>,
    /// The collector of traces, if any are sent.
    collector: Option<Server>,
    systems: Vec<(System, Result<PreparedSystem, String>)>,
}

/// Runs one workload, once for each number of connections.
///
/// # Errors
/// A bare server that does not serve: without it there is nothing to compare with.
pub async fn run(workload: Workload, scale: &Scale, folder: &Path) -> Result<Vec<Outcome>, Fault> {
    let folder = folder.join(workload.name);
    let mut run = WorkloadRun::set_up(workload, scale, &folder).await?;
    let mut outcomes = Vec::new();
    for &connections in workload.connections {
        crate::say(&format!("bench: {}, {connections} at a time", workload.name));
        outcomes.push(run.measure(connections).await);
    }
    drop(run);
    // Recordings are large, and no longer needed after the measurement.
    drop(std::fs::remove_dir_all(folder));
    Ok(outcomes)
}

impl<'a> WorkloadRun<'a> {
    /// Starts every system of a workload, with the recordings that it needs.
    async fn set_up(workload: Workload, scale: &'a Scale, folder: &Path) -> Result<Self, Fault> {
        let nowhere = Setting { folder, origin: "", kind: workload.kind, authority: None };
        let authority = workload.is_tls.then(|| folder.join("authority.pem"));
        let origin = match &authority {
            None => System::Hyper.launch(&nowhere)?,
            Some(file) => {
                std::fs::create_dir_all(folder)
                    .map_err(|source| Fault::Io { what: "make a folder", source })?;
                let words = ["bare-tls".into(), workload.kind.word().into(), file.into()];
                Launch::own::<OsString>(System::Hyper.name(), words)?
            }
        };
        let origin = Server::start(origin)?;
        let traced = |system: &System| system.watch().is_some_and(Watch::is_traced);
        let collector = workload.systems.iter().any(traced).then(collect::start).transpose()?;
        let mut run = Self { workload, scale, origin, authority, collector, systems: Vec::new() };
        let is_compared = Launch::has_earlier();
        let measures = [workload.systems[0], workload.reference];
        for &system in workload.systems {
            let there = match system {
                System::Peer(..) | System::ProxyPeer(..) => scale.peers,
                System::Earlier(_) => is_compared,
                // Beside an earlier loomrec, the others only take time, and part the two that are
                // compared.
                System::Watched(..) | System::Over(..) => !is_compared,
                other => !is_compared || other.is_ours() || measures.contains(&other),
            };
            if !there {
                continue;
            }
            let prepared = run.prepare(system, folder).await.map_err(|fault| fault.to_string());
            if let Err(reason) = &prepared {
                crate::say(&format!("bench: {}: left out: {reason}", workload.name));
            }
            run.systems.push((system, prepared));
        }
        Ok(run)
    }

    async fn prepare(&self, system: System, folder: &Path) -> Result<PreparedSystem, Fault> {
        let folder = folder.join(format!("{}", self.systems.len()));
        std::fs::create_dir_all(&folder)
            .map_err(|source| Fault::Io { what: "make a folder", source })?;
        let distinct = self.workload.distinct;
        let numbers = distinct.map_or_else(Numbers::distinct, |some| Numbers::cycle(some as u64));
        if let (Some(recorder), Some(distinct)) = (system.recorder(), distinct) {
            let origin = self.origin.address();
            make(recorder, self.workload.kind, distinct, origin, &folder, self.scale.making)
                .await?;
        }
        let mut prepared = PreparedSystem { system, folder, server: None, numbers };
        if !self.is_fresh(system) {
            prepared.server = Some(self.start(&prepared, &prepared.folder)?);
        }
        Ok(prepared)
    }

    /// Whether a new process is started for each round: if earlier calls would affect the result,
    /// and the process starts quickly.
    fn is_fresh(&self, system: System) -> bool {
        system.records()
            || (self.workload.once
                && matches!(system, System::Replay | System::Earlier(Task::Replay)))
    }

    fn start(&self, prepared: &PreparedSystem, folder: &Path) -> Result<Server, Fault> {
        let Workload { kind, .. } = self.workload;
        let authority = self.authority.as_deref();
        let at = Setting { folder, origin: self.origin.address(), kind, authority };
        let mut launch = prepared.system.launch(&at)?;
        if let Some(watch) = prepared.system.watch() {
            launch.settings.extend(watch.settings(self.collector()));
        }
        Server::start(launch)
    }

    /// Returns the address of the collector.
    fn collector(&self) -> &str {
        self.collector.as_ref().map_or("", Server::address)
    }

    /// Runs all rounds at one number of connections.
    async fn measure(&mut self, connections: usize) -> Outcome {
        let began = Instant::now();
        let mut results: Vec<(System, Result<Vec<Sample>, String>)> = Vec::new();
        for (system, prepared) in &self.systems {
            results.push((*system, prepared.as_ref().map(|_| Vec::new()).map_err(Clone::clone)));
        }
        for round in 0..self.scale.rounds {
            if round > 2 && began.elapsed() > self.scale.patience {
                break;
            }
            // Each round has another order, the same in each run of the benchmark, so that the effects
            // of one system on the next (a disk that is still writing) do not always hit the same one.
            let mut order: Vec<usize> = (0..self.systems.len()).collect();
            order.shuffle(&mut StdRng::seed_from_u64(round as u64));
            for index in order {
                let (_, Ok(prepared)) = &self.systems[index] else { continue };
                match (self.turn(prepared, connections, round).await, &mut results[index].1) {
                    (Ok(sample), Ok(samples)) => samples.push(sample),
                    (Ok(_), Err(_)) => {}
                    (Err(fault), result) => {
                        let reason = fault.to_string();
                        crate::say(&format!("bench: {}: {reason}", self.workload.name));
                        self.systems[index].1 = Err(reason.clone());
                        *result = Err(reason);
                    }
                }
            }
        }
        Outcome { workload: self.workload, connections, results }
    }

    /// Runs one system's turn in a round.
    async fn turn(
        &self,
        prepared: &PreparedSystem,
        connections: usize,
        round: usize,
    ) -> Result<Sample, Fault> {
        let system = prepared.system;
        let (mut folder, mut numbers) = (prepared.folder.clone(), Arc::clone(&prepared.numbers));
        let fresh = match &prepared.server {
            Some(_) => None,
            None => {
                if system.records() {
                    // Each recorder gets a new recording.
                    folder = folder.join(format!("{connections}-{round}"));
                    std::fs::create_dir_all(&folder)
                        .map_err(|source| Fault::Io { what: "make a folder", source })?;
                }
                numbers = Numbers::distinct();
                Some(self.start(prepared, &folder)?)
            }
        };
        if self.workload.once {
            numbers = Numbers::distinct();
        }
        let Some(server) = fresh.as_ref().or(prepared.server.as_ref()) else {
            let detail = "it is not running".to_owned();
            return Err(Fault::Child { name: system.name(), detail });
        };
        let counted = self.workload.once || self.workload.kind == Kind::Slow;
        let recorded = self.workload.distinct.is_none();
        let load = Load {
            system: system.name(),
            address: server.address().to_owned(),
            process: server.process(),
            kind: system.kind(self.workload.kind),
            exact: system.is_exact(),
            transport: system.transport(),
            is_reconnecting: self.workload.is_reconnecting,
            connections,
            warm_up: if counted { Duration::ZERO } else { self.scale.warm_up(recorded) },
            amount: self.workload.amount,
            numbers,
        };
        let (name, address) = (system.name(), server.address());
        let watchers = system.watch().map(|watch| watch.begin(name, address, self.collector()));
        let watchers = watchers.transpose()?.unwrap_or_default();
        let sample = load.run().await?;
        watchers.into_iter().try_for_each(Watcher::end)?;
        if let Some(server) = fresh {
            // A recorder that could not keep everything does not end with success.
            let strict = system.records();
            server.stop(strict)?;
        }
        if system.records() {
            drop(std::fs::remove_dir_all(folder));
        }
        Ok(sample)
    }
}

/// Has a system record this many distinct calls.
///
/// # Errors
/// A system that does not record them all, or not within `time`.
pub async fn make(
    recorder: System,
    kind: Kind,
    calls: usize,
    origin: &str,
    folder: &Path,
    time: Duration,
) -> Result<(), Fault> {
    let server =
        Server::start(recorder.launch(&Setting { folder, origin, kind, authority: None })?)?;
    let connections = MAKERS.min(calls);
    let load = Load {
        system: recorder.name(),
        address: server.address().to_owned(),
        process: server.process(),
        kind,
        exact: true,
        transport: Transport::Plain,
        is_reconnecting: false,
        connections,
        warm_up: Duration::ZERO,
        // Each connection makes one call before the measurement.
        amount: Amount { calls: calls - connections, time },
        numbers: Numbers::distinct(),
    };
    let made = load.run().await?.calls + connections;
    if made < calls {
        let (name, time) = (recorder.name(), time.as_secs());
        let detail = format!("it recorded {made} of {calls} calls in {time} s");
        return Err(Fault::Child { name, detail });
    }
    server.stop(recorder.is_ours())
}
