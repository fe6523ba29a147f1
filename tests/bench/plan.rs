//! The plan of the measurements: the workloads, the systems that take part, and the durations.

use std::time::Duration;

use crate::load::Amount;
use crate::peer::Peer::{Aimock, Llmposter, Mitmdump, Nginx, Wiremock};
use crate::peer::Task;
use crate::sample::Kind;
use crate::system::System::{
    self, Earlier, Elsewhere, Flat, Hyper, Keyed, OneBody, Over, PassThrough, Peer, ProxyPeer,
    Record, Replay, Tee, Watched,
};
use crate::transport::Transport::{Http2, Tls, Tunnel};
use crate::watch::Watch;

/// The systems that answer one call again and again.
const REPLAYS: &[System] = &[
    Hyper,
    Keyed,
    Peer(Nginx, Task::Replay),
    Replay,
    Earlier(Task::Replay),
    Peer(Llmposter, Task::Replay),
    Peer(Aimock, Task::Replay),
    Peer(Mitmdump, Task::Replay),
    Peer(Wiremock, Task::Replay),
];
/// The systems that answer many calls, each with its own answer.
const LIBRARIES: &[System] = &[
    Hyper,
    Keyed,
    Replay,
    Earlier(Task::Replay),
    Peer(Llmposter, Task::Replay),
    Peer(Aimock, Task::Replay),
    Peer(Mitmdump, Task::Replay),
    Peer(Wiremock, Task::Replay),
];
/// The systems that replay a stream.
const STREAMS: &[System] = &[
    OneBody,
    Hyper,
    Flat,
    Peer(Nginx, Task::Replay),
    Replay,
    Earlier(Task::Replay),
    Peer(Llmposter, Task::Replay),
    Peer(Aimock, Task::Replay),
    Peer(Mitmdump, Task::Replay),
    Peer(Wiremock, Task::Replay),
];
/// The systems that forward calls.
const PROXIES: &[System] = &[
    Hyper,
    PassThrough,
    Tee,
    Peer(Nginx, Task::Record),
    Record,
    Earlier(Task::Record),
    Peer(Llmposter, Task::Record),
    Peer(Aimock, Task::Record),
    Peer(Mitmdump, Task::Record),
    Peer(Wiremock, Task::Record),
];

/// The systems that forward to an upstream over TLS. The first one answers directly.
const TLS_PROXIES: &[System] = &[Hyper, PassThrough, Tee, Record, Earlier(Task::Record)];

/// The ways to a system that replays, beside a peer that intercepts.
const REACHED_REPLAYS: &[System] = &[
    Replay,
    Over(Tls, Task::Replay),
    Over(Http2, Task::Replay),
    Over(Tunnel, Task::Replay),
    ProxyPeer(Mitmdump, Task::Replay),
];
/// The ways to a system that records, beside a peer that intercepts.
const REACHED_RECORDS: &[System] =
    &[Record, Over(Tunnel, Task::Record), ProxyPeer(Mitmdump, Task::Record)];

/// A replaying loomrec under every kind of observation.
const WATCHED_REPLAYS: &[System] = &watched(Replay, Task::Replay);
/// A recording loomrec under every kind of observation.
const WATCHED_RECORDS: &[System] = &watched(Record, Task::Record);

const fn watched(nobody: System, task: Task) -> [System; 8] {
    [
        nobody,
        Watched(Watch::Journal, task),
        Watched(Watch::Scraper, task),
        Watched(Watch::Both, task),
        Watched(Watch::Follower, task),
        Watched(Watch::Traced, task),
        Watched(Watch::All, task),
        Earlier(task),
    ]
}

/// The same calls for several systems.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its short name.
    pub name: &'static str,
    /// A description of the calls.
    pub what: &'static str,
    /// The kind of call.
    pub kind: Kind,
    /// Whether the upstream of a proxy uses TLS.
    pub is_tls: bool,
    /// The numbers of open connections, each with one call at a time. Each number is a separate
    /// series.
    pub connections: &'static [usize],
    /// How many distinct calls there are. `None` if every call is a new one.
    pub distinct: Option<usize>,
    /// Whether each recorded call is made only once to a process.
    pub once: bool,
    /// Whether each call is made over a connection of its own.
    pub is_reconnecting: bool,
    /// How many calls of a system are measured in a round.
    pub amount: Amount,
    /// The systems that take part. Added times are relative to the first.
    pub systems: &'static [System],
    /// The system whose requests per second count as 1.
    pub reference: System,
}

/// How long a process that has just been started makes calls before it is measured.
const FRESH_WARM_UP: Duration = Duration::from_millis(500);

/// How thorough a run is.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The number of rounds. The tables show medians over them.
    pub rounds: usize,
    /// Whether peers take part.
    pub peers: bool,
    /// The workloads to run. Empty for all.
    pub only: Vec<String>,
    /// Whether the page is written.
    pub writes: bool,
    /// How long a workload may go on starting rounds.
    pub patience: Duration,
    /// How long it may take to make a recording.
    pub making: Duration,
    /// How long a system is measured in each round.
    slice: Duration,
    /// How many slow streams a system gets in each round.
    slow: usize,
    /// How many recorded calls are each made once, and how many distinct calls the long recording
    /// has.
    pub many: usize,
    /// The sizes of the recordings for the start-up measurement.
    pub sizes: &'static [usize],
}

impl Scale {
    /// A full run, within fifteen minutes.
    pub fn full() -> Self {
        Self {
            rounds: 9,
            peers: true,
            only: Vec::new(),
            writes: true,
            patience: Duration::from_secs(60),
            making: Duration::from_secs(40),
            slice: Duration::from_millis(400),
            slow: 3,
            many: 20_000,
            sizes: &[1, 10_000, 100_000],
        }
    }

    /// A quick run under thirty seconds, for a first impression.
    pub fn quick() -> Self {
        Self {
            rounds: 3,
            peers: false,
            writes: false,
            patience: Duration::from_secs(3),
            making: Duration::from_secs(3),
            slice: Duration::from_millis(120),
            slow: 1,
            many: 1_000,
            sizes: &[1, 500],
            ..Self::full()
        }
    }

    /// Returns the same run beside an earlier loomrec. Their difference is small, and the speed of a
    /// shared machine drifts: they take turns more often, and each turn is shorter.
    pub fn compared(self) -> Self {
        let (rounds, slice) = (self.rounds * 7, self.slice / 3);
        Self { rounds, slice, peers: false, writes: false, patience: Duration::MAX, ..self }
    }

    /// Returns how long calls are made before a system is measured. Longer if it has just been started:
    /// the system gives it its memory while it makes its first calls.
    pub fn warm_up(&self, fresh: bool) -> Duration {
        if fresh { self.slice.max(FRESH_WARM_UP) } else { self.slice / 5 }
    }

    /// Whether a part of the benchmark is to be run.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Returns the workloads that are to be run.
    pub fn workloads(&self) -> Vec<Workload> {
        let mut all = self.replays();
        all.extend(self.records());
        all.extend(self.seen());
        all.extend(self.reached());
        all.retain(|workload| self.wants(workload.name));
        all
    }

    fn replays(&self) -> Vec<Workload> {
        let w1 = Workload {
            name: "W1",
            what: "replay: one call of 1 KB, an answer of 2 KB",
            kind: Kind::Call,
            is_tls: false,
            connections: &[1, 16],
            distinct: Some(1),
            once: false,
            is_reconnecting: false,
            amount: Amount { calls: usize::MAX, time: self.slice },
            systems: REPLAYS,
            reference: Hyper,
        };
        let w1k = Workload {
            name: "W1k",
            what: "replay: 1,000 distinct calls in a cycle",
            connections: &[16],
            distinct: Some(1_000),
            systems: LIBRARIES,
            ..w1
        };
        let bound = Workload {
            name: "W1b",
            what: "replay: the calls of W1k, as recorded and with another value of the run in each",
            systems: &[Hyper, Replay, Elsewhere(Task::Replay)],
            reference: Replay,
            ..w1k
        };
        let once = Workload {
            name: "W1once",
            what: "replay: many distinct calls, each made once to a new process",
            distinct: Some(self.many),
            once: true,
            amount: Amount { calls: self.many - 16, time: 4 * self.slice },
            systems: &[Hyper, Keyed, Replay, Earlier(Task::Replay)],
            ..w1k
        };
        let long = Workload {
            name: "W1L",
            what: "replay: 64 conversations of 256 KB in a cycle",
            kind: Kind::Long,
            connections: &[4],
            distinct: Some(64),
            ..w1k
        };
        let streamed = Workload {
            name: "W1s",
            what: "replay: a stream of 200 chunks",
            kind: Kind::Events,
            connections: &[4],
            systems: STREAMS,
            reference: OneBody,
            ..w1
        };
        vec![w1, w1k, bound, once, long, streamed]
    }

    fn records(&self) -> Vec<Workload> {
        let w2 = Workload {
            name: "W2",
            what: "record: distinct calls of 1 KB, answers of 2 KB",
            kind: Kind::Call,
            is_tls: false,
            connections: &[1, 16],
            distinct: None,
            once: false,
            is_reconnecting: false,
            amount: Amount { calls: usize::MAX, time: self.slice },
            systems: PROXIES,
            reference: PassThrough,
        };
        let streamed = Workload {
            name: "W2s",
            what: "record: distinct calls, streams of 200 chunks",
            kind: Kind::Events,
            connections: &[4],
            ..w2
        };
        let slow = Workload {
            name: "slow",
            what: "record: streams of 10 events 20 ms apart",
            kind: Kind::Slow,
            connections: &[1],
            amount: Amount { calls: self.slow, time: Duration::from_secs(20) },
            ..w2
        };
        let over_tls = |name, what, workload: Workload| Workload {
            name,
            what,
            is_tls: true,
            systems: TLS_PROXIES,
            ..workload
        };
        let w2_tls =
            over_tls("W2tls", "record from https: distinct calls of 1 KB, answers of 2 KB", w2);
        let streamed_tls = over_tls(
            "W2stls",
            "record from https: distinct calls, streams of 200 chunks",
            streamed,
        );
        vec![w2, streamed, slow, w2_tls, streamed_tls]
    }

    fn reached(&self) -> [Workload; 3] {
        let replay = Workload {
            name: "reach",
            what: "replay: the calls of W1k, over TLS, HTTP/2 and in tunnels",
            kind: Kind::Call,
            is_tls: false,
            connections: &[1, 16],
            distinct: Some(1_000),
            once: false,
            is_reconnecting: false,
            amount: Amount { calls: usize::MAX, time: self.slice },
            systems: REACHED_REPLAYS,
            reference: Replay,
        };
        let record = Workload {
            name: "reachrec",
            what: "record: the calls of W2, in tunnels",
            connections: &[16],
            distinct: None,
            systems: REACHED_RECORDS,
            reference: Record,
            ..replay
        };
        let handshake = Workload {
            name: "handshake",
            what: "replay: the calls of W1k, each over a connection of its own",
            connections: &[1],
            is_reconnecting: true,
            ..replay
        };
        [replay, record, handshake]
    }

    fn seen(&self) -> [Workload; 2] {
        let replay = Workload {
            name: "seen",
            what: "replay: the calls of W1, nobody watching and watched",
            kind: Kind::Call,
            is_tls: false,
            connections: &[16],
            distinct: Some(1),
            once: false,
            is_reconnecting: false,
            // Long enough for one scrape.
            amount: Amount { calls: usize::MAX, time: self.slice * 5 / 2 },
            systems: WATCHED_REPLAYS,
            reference: Replay,
        };
        let record = Workload {
            name: "seenrec",
            what: "record: the calls of W2, nobody watching and watched",
            distinct: None,
            systems: WATCHED_RECORDS,
            reference: Record,
            ..replay
        };
        [replay, record]
    }
}
