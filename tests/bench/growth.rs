//! The growth workload: the cost of recording a call as a recording grows, over distinct calls in
//! ten blocks.

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
use crate::transport::Transport;
use crate::usage;

/// Its name among the workloads.
pub const NAME: &str = "growth";
/// The number of blocks.
pub const BLOCKS: usize = 10;
/// The number of open connections.
const CONNECTIONS: usize = 16;
/// How many recordings each fast system makes.
const REPEATS: usize = 3;
/// How many calls a peer gets: enough to see how its cost grows.
const PEER_CALLS: usize = 3_500;

/// The systems that record, and how often each is measured.
const SYSTEMS: [(System, usize); 6] = [
    (System::Tee, REPEATS),
    (System::Record, REPEATS),
    (System::Peer(Peer::Llmposter, Task::Record), 1),
    (System::Peer(Peer::Aimock, Task::Record), 1),
    (System::Peer(Peer::Mitmdump, Task::Record), 1),
    (System::Peer(Peer::Wiremock, Task::Record), 1),
];

/// One recording that grew.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The number of distinct calls.
    pub calls: usize,
    /// The time per call in each block, over all connections. Fewer than [`BLOCKS`] if the time ran
    /// out.
    pub blocks: Vec<Duration>,
    /// The time from the request to stop until the process ended.
    pub closing: Duration,
    /// Its peak memory, in bytes.
    pub peak: u64,
}

impl Grown {
    /// Returns the cost in the last block divided by that in the second.
    pub fn ratio(&self) -> f64 {
        match self.blocks.as_slice() {
            [_, second, .., last] => last.as_secs_f64() / second.as_secs_f64(),
            _ => f64::NAN,
        }
    }

    /// Whether all calls were made in time.
    pub fn is_whole(&self) -> bool {
        self.blocks.len() == BLOCKS
    }
}

/// The results of each system, or why there are none.
pub type Results = Vec<(System, Result<Vec<Grown>, String>)>;

/// Returns the median of all ratios.
pub fn ratio(grown: &[Grown]) -> f64 {
    median(grown.iter().map(Grown::ratio))
}

/// Measures every system.
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

/// Makes one recording, starting from nothing.
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
            transport: Transport::Plain,
            is_reconnecting: false,
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
