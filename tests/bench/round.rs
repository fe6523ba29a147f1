//! The rounds: every system of a workload in turn, again and again, so that what
//! disturbs the machine disturbs all of them alike.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::child::Server;
use crate::fault::Fault;
use crate::load::{Load, Sample};
use crate::plan::{Amount, Scale, System, Workload};
use crate::sample::Kind;

/// What the rounds of one workload showed.
pub struct Outcome {
    /// The workload.
    pub workload: Workload,
    /// For each of its systems, the samples round by round.
    pub samples: Vec<Vec<Sample>>,
    /// How many exchanges `loomrec record` kept in one recording.
    pub recorded: Option<u64>,
}

/// The processes that serve every workload.
struct Stage {
    folder: tempfile::TempDir,
    bare: Server,
    pass: Server,
    replay: Server,
}

/// Runs every workload.
///
/// # Errors
/// A process that does not serve, an answer that is wrong.
pub async fn all(scale: Scale) -> Result<Vec<Outcome>, Fault> {
    let stage = Stage::set().await?;
    let mut outcomes = Vec::new();
    for workload in scale.workloads() {
        let Workload { name, what, connections, .. } = workload;
        crate::say(&format!("bench: {name} {what}, {connections} at a time"));
        outcomes.push(stage.play(workload, scale.rounds).await?);
    }
    stage.replay.stop()?;
    Ok(outcomes)
}

impl Stage {
    /// Starts the processes, and makes the recording that is replayed.
    async fn set() -> Result<Self, Fault> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .map_err(|source| Fault::Io { what: "make a folder", source })?;
        let bare = Server::bare(System::Hyper.name(), &["bare"])?;
        let origin = format!("http://{}", bare.address());
        let pass = Server::bare(System::PassThrough.name(), &["pass", &origin])?;
        let path = folder.path().join("replayed.json");
        let recorder = record(&path, &origin)?;
        for kind in [Kind::Call, Kind::Events] {
            let load = Load {
                system: System::Record.name(),
                address: recorder.address().to_owned(),
                kind,
                connections: 1,
                amount: Amount::Calls(0),
                numbers: None,
            };
            load.run().await?;
        }
        recorder.stop()?;
        let words = ["replay", "--strict", "--repeat", "cycle", "--listen", "127.0.0.1:0", "-r"];
        let words = words.into_iter().map(OsStr::new).chain([path.as_os_str()]);
        let replay = Server::loomrec(System::Replay.name(), words)?;
        Ok(Self { folder, bare, pass, replay })
    }

    /// All rounds of one workload.
    async fn play(&self, workload: Workload, rounds: usize) -> Result<Outcome, Fault> {
        let recorder = match workload.systems.contains(&System::Record) {
            true => Some(self.recorder(&workload)?),
            false => None,
        };
        let numbers = Arc::new(AtomicU64::new(1));
        let mut recorded = 0;
        let mut samples: Vec<Vec<Sample>> = workload.systems.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for turn in 0..workload.systems.len() {
                // Each round begins with another system.
                let index = (round + turn) % workload.systems.len();
                let system = workload.systems[index];
                let before = numbers.load(Ordering::Relaxed);
                let load = Load {
                    system: system.name(),
                    address: self.address(system, recorder.as_ref()).to_owned(),
                    kind: system.kind(workload.kind),
                    connections: workload.connections,
                    amount: workload.amount(system),
                    numbers: workload.distinct.then(|| Arc::clone(&numbers)),
                };
                samples[index].push(load.run().await?);
                if system == System::Record {
                    recorded += numbers.load(Ordering::Relaxed) - before;
                }
            }
        }
        let kept = recorder.is_some().then_some(recorded);
        // A recorder that could not keep everything does not end in success.
        recorder.map_or(Ok(()), Server::stop)?;
        Ok(Outcome { workload, samples, recorded: kept })
    }

    /// A recorder with a recording of its own.
    fn recorder(&self, workload: &Workload) -> Result<Server, Fault> {
        let name = format!("{}-{}.json", workload.name, workload.connections);
        record(&self.folder.path().join(name), &format!("http://{}", self.bare.address()))
    }

    fn address<'a>(&'a self, system: System, recorder: Option<&'a Server>) -> &'a str {
        let server = match system {
            System::Hyper | System::OneBody => &self.bare,
            System::PassThrough => &self.pass,
            System::Replay => &self.replay,
            System::Record => recorder.unwrap_or(&self.bare),
        };
        server.address()
    }
}

/// Starts `loomrec record` on a free port.
fn record(path: &Path, origin: &str) -> Result<Server, Fault> {
    let words = ["record", "--listen", "127.0.0.1:0", "--upstream", origin, "-r"];
    let words = words.into_iter().map(OsStr::new).chain([path.as_os_str()]);
    Server::loomrec(System::Record.name(), words)
}
