//! What is measured: the systems, the workloads, and how long for.

use std::time::Duration;

use crate::sample::Kind;

/// Something that answers calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// The bare server.
    Hyper,
    /// The bare server sending a stream's bytes as one body.
    OneBody,
    /// The bare pass-through in front of the bare server.
    PassThrough,
    /// `loomrec replay`, one recorded call asked for again and again.
    Replay,
    /// `loomrec record` in front of the bare server.
    Record,
}

impl System {
    /// What it is called in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hyper => "bare hyper",
            Self::OneBody => "bare hyper, one body",
            Self::PassThrough => "hyper + reqwest pass-through",
            Self::Replay => "loomrec replay",
            Self::Record => "loomrec record",
        }
    }

    /// The answer it is asked for in a workload about `kind`.
    pub fn kind(self, kind: Kind) -> Kind {
        match self {
            Self::OneBody => Kind::Whole,
            _ => kind,
        }
    }
}

/// How much is measured of one system in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Calls for so long.
    For(Duration),
    /// So many calls, over all connections.
    Calls(usize),
}

/// One table row's group: the same calls to several systems.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its short name.
    pub name: &'static str,
    /// What is called.
    pub what: &'static str,
    /// The answers.
    pub kind: Kind,
    /// Open connections, each with one call at a time.
    pub connections: usize,
    /// What is measured of a system in a round.
    pub amount: Amount,
    /// What is measured of a system that keeps every call, where that differs.
    pub kept: Option<Amount>,
    /// Who takes part. Added times are those over the first.
    pub systems: &'static [System],
    /// Whose requests per second count as 1.
    pub reference: System,
    /// Whether each call is one that was never made before.
    pub distinct: bool,
}

impl Workload {
    /// What is measured of `system` in a round.
    pub fn amount(&self, system: System) -> Amount {
        match (system, self.kept) {
            (System::Record, Some(kept)) => kept,
            _ => self.amount,
        }
    }
}

/// How thorough a run is.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds; the table shows their medians.
    pub rounds: usize,
    /// How long a system that keeps nothing is measured in each round.
    slice: Duration,
    /// Calls that a system which keeps them gets in each round.
    calls: usize,
    /// Slow streams that a system gets in each round.
    slow: usize,
}

impl Scale {
    /// Under three minutes.
    pub fn full() -> Self {
        Self { rounds: 9, slice: Duration::from_millis(700), calls: 60, slow: 6 }
    }

    /// Under twenty seconds: a first impression.
    pub fn quick() -> Self {
        Self { rounds: 3, slice: Duration::from_millis(200), calls: 40, slow: 1 }
    }

    /// Every workload.
    pub fn workloads(self) -> [Workload; 7] {
        use System::{Hyper, OneBody, PassThrough, Record, Replay};
        let w1 = Workload {
            name: "W1",
            what: "replay, 1 KB call, 2 KB answer",
            kind: Kind::Call,
            connections: 1,
            amount: Amount::For(self.slice),
            kept: None,
            systems: &[Hyper, Replay],
            reference: Hyper,
            distinct: false,
        };
        let w1s = Workload {
            name: "W1s",
            what: "replay, 200-chunk stream",
            kind: Kind::Events,
            connections: 4,
            systems: &[Hyper, OneBody, Replay],
            reference: OneBody,
            ..w1
        };
        let w2 = Workload {
            name: "W2",
            what: "record, 1 KB call, 2 KB answer",
            kept: Some(Amount::Calls(self.calls)),
            systems: &[Hyper, PassThrough, Record],
            reference: PassThrough,
            distinct: true,
            ..w1
        };
        let w2s = Workload {
            name: "W2s",
            what: "record, 200-chunk stream",
            kind: Kind::Events,
            connections: 4,
            ..w2
        };
        let slow = Workload {
            name: "slow",
            what: "record, 10 events 20 ms apart",
            kind: Kind::Slow,
            amount: Amount::Calls(self.slow),
            kept: None,
            ..w2
        };
        let wide = |workload| Workload { connections: 16, ..workload };
        [w1, wide(w1), w1s, w2, wide(w2), w2s, slow]
    }
}
