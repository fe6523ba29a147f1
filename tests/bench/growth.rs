//! What keeping a call costs as a recording grows: distinct calls in ten blocks.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::child::Server;
use crate::fault::Fault;
use crate::load::{Amount, Load, Numbers};
use crate::peer::Setting;
use crate::peer::{Peer, Task};
use crate::plan::Scale;
use crate::quantile::median;
use crate::sample::Kind;
use crate::system::System;
use crate::usage;

/// Its name among the workloads.
pub const NAME: &str = "growth";
/// Blocks.
pub const BLOCKS: usize = 10;
/// Open connections.
const CONNECTIONS: usize = 16;
/// How many times a recording is made by those that are quick.
const REPEATS: usize = 3;
/// Calls that a peer gets: enough to see where its cost goes.
const PEER_CALLS: usize = 3_500;

/// Who keeps calls, and how often each is measured.
const SYSTEMS: [(System, usize); 6] = [
    (System::Tee, REPEATS),
    (System::Record, REPEATS),
    (System::Peer(Peer::Llmposter, Task::Record), 1),
    (System::Peer(Peer::Aimock, Task::Record), 1),
    (System::Peer(Peer::Mitmdump, Task::Record), 1),
    (System::Peer(Peer::Wiremock, Task::Record), 1),
];

/// One recording as it grew.
#[derive(Clone, Debug)]
pub struct Grown {
    /// Distinct calls.
    pub calls: usize,
    /// Time per call in each block, over all connections; fewer than [`BLOCKS`] where the
    /// time was over before.
    pub blocks: Vec<Duration>,
    /// From being told to end until it had.
    pub closing: Duration,
    /// The most memory it held, in bytes.
    pub peak: u64,
}

impl Grown {
    /// The cost in the last block over that in the second.
    pub fn ratio(&self) -> f64 {
        match self.blocks.as_slice() {
            [_, second, .., last] => last.as_secs_f64() / second.as_secs_f64(),
            _ => f64::NAN,
        }
    }

    /// Whether all calls could be made in time.
    pub fn is_whole(&self) -> bool {
        self.blocks.len() == BLOCKS
    }
}

/// What each system showed, or why it showed nothing.
pub type Results = Vec<(System, Result<Vec<Grown>, String>)>;

/// The middle of all repeats' ratios.
pub fn ratio(grown: &[Grown]) -> f64 {
    median(grown.iter().map(Grown::ratio))
}

/// Has every system record.
///
/// # Errors
/// A bare server that does not serve.
pub async fn run(scale: &Scale, folder: &Path) -> Result<Results, Fault> {
    crate::say("bench: growth: cost per recorded call");
    let nowhere = Setting { folder, origin: "", kind: Kind::Call, authority: None };
    let origin = Server::start(System::Hyper.launch(&nowhere)?)?;
    let mut results = Results::new();
    for (system, _) in SYSTEMS {
        if scale.peers || !matches!(system, System::Peer(..)) {
            results.push((system, Ok(Vec::new())));
        }
    }
    for repeat in 0..REPEATS {
        for ((system, repeats), (_, result)) in SYSTEMS.iter().zip(&mut results) {
            let Ok(grown) = result else { continue };
            if repeat >= *repeats {
                continue;
            }
            let own = folder.join(format!("growth-{}-{repeat}", grown.len()));
            match grow(*system, scale, origin.address(), &own).await {
                Ok(one) => grown.push(one),
                Err(fault) => {
                    crate::say(&format!("bench: growth: {fault}"));
                    *result = Err(fault.to_string());
                }
            }
            drop(std::fs::remove_dir_all(own));
        }
    }
    Ok(results)
}

/// One recording, from nothing.
async fn grow(system: System, scale: &Scale, origin: &str, folder: &Path) -> Result<Grown, Fault> {
    std::fs::create_dir_all(folder)
        .map_err(|source| Fault::Io { what: "make a folder", source })?;
    let server = Server::start(system.launch(&Setting {
        folder,
        origin,
        kind: Kind::Call,
        authority: None,
    })?)?;
    let most = if matches!(system, System::Peer(..)) { PEER_CALLS } else { scale.many };
    let calls = most.min(scale.many) / BLOCKS;
    let numbers = Numbers::distinct();
    let began = Instant::now();
    let mut blocks = Vec::new();
    for _ in 0..BLOCKS {
        let load = Load {
            system: system.name(),
            address: server.address().to_owned(),
            process: server.process(),
            kind: Kind::Call,
            exact: true,
            connections: CONNECTIONS,
            warm_up: Duration::ZERO,
            amount: Amount { calls: calls - CONNECTIONS, time: scale.making },
            numbers: std::sync::Arc::clone(&numbers),
        };
        let sample = load.run().await?;
        blocks.push(sample.elapsed.div_f64(sample.calls.max(1) as f64));
        if began.elapsed() > scale.making {
            break;
        }
    }
    if blocks.len() < 3 {
        let (made, time) = (blocks.len(), scale.making.as_secs());
        let detail = format!("it was at block {made} of {BLOCKS} after {time} s");
        return Err(Fault::Child { name: system.name(), detail });
    }
    let peak = usage::peak(server.process());
    let closing = Instant::now();
    server.stop(system.is_ours())?;
    Ok(Grown { calls: calls * blocks.len(), blocks, closing: closing.elapsed(), peak })
}
