//! The load generator: N connections over one thread per core, one call at a time on each
//! connection. Every answer is read to its end and checked.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::{Answer, mark};
use crate::fault::Fault;
use crate::quantile::quantile;
use crate::sample::{Kind, Request, words};
use crate::transport::{Link, Transport};
use crate::usage;

/// A system that does not answer for this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The amount of calls to measure. The measurement ends when either limit is reached.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// The number of calls over all connections. Each connection makes one more call before.
    pub calls: usize,
    /// The duration.
    pub time: Duration,
}

/// The numbers that make calls distinct.
#[derive(Debug)]
pub struct Numbers {
    next: AtomicU64,
    cycle: u64,
}

impl Numbers {
    /// Numbers from zero to below `cycle`, repeated.
    pub fn cycle(cycle: u64) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(0), cycle })
    }

    /// Numbers that never repeat.
    pub fn distinct() -> Arc<Self> {
        Self::cycle(u64::MAX)
    }

    fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) % self.cycle
    }
}

/// The load for one system.
#[derive(Clone, Debug)]
pub struct Load {
    /// The name of the system, for messages.
    pub system: &'static str,
    /// The address of the system.
    pub address: String,
    /// The id of its process.
    pub process: u32,
    /// The kind of call.
    pub kind: Kind,
    /// Whether its answers must have exactly the upstream's bytes, or only the same words.
    pub exact: bool,
    /// How its connections reach the system.
    pub transport: Transport,
    /// Whether each call is made over a connection of its own.
    pub is_reconnecting: bool,
    /// The number of open connections.
    pub connections: usize,
    /// How long calls are made before the measurement starts.
    pub warm_up: Duration,
    /// How many calls are measured.
    pub amount: Amount,
    /// Assigns a number to each call.
    pub numbers: Arc<Numbers>,
}

/// The result of one round of calls.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The number of measured calls.
    pub calls: usize,
    /// The time from the first call to the end of the last.
    pub elapsed: Duration,
    /// Calls per second, over all connections.
    pub per_second: f64,
    /// The median time until a call was answered in full.
    pub p50: Duration,
    /// The 99th percentile of the time until a call was answered in full.
    pub p99: Duration,
    /// The median time until the first byte of the body.
    pub first: Duration,
    /// The fewest and the most chunks of an answer.
    pub chunks: (usize, usize),
    /// Whether every answer had the upstream's chunk boundaries.
    pub boundaries: bool,
    /// Processor time of the system for each call.
    pub cost: Duration,
    /// The share of time for which the load generator's threads were busy.
    pub load_share: f64,
}

/// The expected answer.
#[derive(Debug)]
struct Expected {
    body: Vec<u8>,
    boundaries: u64,
}

impl Expected {
    fn of(kind: Kind) -> Self {
        let chunks = kind.chunks();
        let boundaries = chunks.iter().fold(0, |sum, chunk| mark(sum, chunk.len()));
        Self { body: chunks.concat(), boundaries }
    }
}

/// A connection, with what it needs to make calls.
struct Caller {
    load: Arc<Load>,
    connection: Link,
    request: Request,
    expected: Arc<Expected>,
}

/// The result of one thread.
type Harvest = Result<(Vec<Answer>, Duration), Fault>;

impl Load {
    /// Connects, compares answers, warms up, and measures.
    ///
    /// # Errors
    /// A connection that fails, an answer that is wrong, or no answer for too long.
    pub async fn run(self) -> Result<Sample, Fault> {
        let (sender, sample) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // The receiver is gone if the benchmark was told to stop.
            drop(sender.send(self.run_here()));
        });
        let gone = |_| Fault::Io { what: "make calls", source: std::io::ErrorKind::Other.into() };
        sample.await.map_err(gone)?
    }

    fn run_here(self) -> Result<Sample, Fault> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(self.connections);
        let expected = Arc::new(Expected::of(self.kind));
        let gate = Gate::new(self.amount.calls);
        let barrier = Barrier::new(threads + 1);
        let load = &Arc::new(self);
        let (harvests, elapsed, cost) = std::thread::scope(|scope| {
            let (gate, barrier, expected) = (&gate, &barrier, &expected);
            let run = |thread: usize| {
                // If the connections do not divide evenly, the first threads get one more.
                let own =
                    load.connections / threads + usize::from(thread < load.connections % threads);
                scope.spawn(move || load.thread(own, expected, gate, barrier))
            };
            let running: Vec<_> = (0..threads).map(run).collect();
            barrier.wait();
            let (start, before) = (Instant::now(), usage::cpu(load.process));
            let harvests: Vec<Option<Harvest>> =
                running.into_iter().map(|thread| thread.join().ok()).collect();
            let elapsed = start.elapsed();
            (harvests, elapsed, usage::cpu(load.process).saturating_sub(before))
        });
        let (mut answers, mut spent) = (Vec::new(), Duration::ZERO);
        for harvest in harvests {
            let (own, time) = harvest.ok_or_else(|| load.wrong("a thread was lost"))??;
            answers.extend(own);
            spent += time;
        }
        let mut sample = Sample::of(&answers, expected.boundaries, elapsed);
        let calls = answers.len().max(1) as f64;
        sample.cost = cost.div_f64(calls);
        sample.load_share = spent.as_secs_f64() / (elapsed.as_secs_f64() * threads as f64);
        Ok(sample)
    }

    /// Runs one thread's part of the load, with `own` connections.
    fn thread(
        self: &Arc<Self>,
        own: usize,
        expected: &Arc<Expected>,
        gate: &Arc<Gate>,
        barrier: &Barrier,
    ) -> Harvest {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| Fault::Io { what: "start the load generator", source });
        let ready = runtime.and_then(|runtime| {
            let limit = PATIENCE + self.warm_up;
            let prepared = runtime
                .block_on(async { tokio::time::timeout(limit, self.prepare(own, expected)).await });
            prepared.unwrap_or_else(|_| Err(self.wrong("no answer"))).map(|own| (runtime, own))
        });
        // The other threads wait for this one, even if it failed.
        barrier.wait();
        let (runtime, callers) = ready?;
        let before = usage::own_thread();
        let end = Instant::now() + self.amount.time;
        let limit = PATIENCE + self.amount.time;
        let measured = runtime
            .block_on(async { tokio::time::timeout(limit, measure(callers, gate, end)).await });
        let answers = measured.unwrap_or_else(|_| Err(self.wrong("no answer")))?;
        Ok((answers, usage::own_thread().saturating_sub(before)))
    }

    /// Opens connections, each of which has had a correct answer.
    async fn prepare(
        self: &Arc<Self>,
        own: usize,
        expected: &Arc<Expected>,
    ) -> Result<Vec<Caller>, Fault> {
        let mut warming = JoinSet::new();
        for _ in 0..own {
            let connection = self.connect().await?;
            let (load, expected) = (Arc::clone(self), Arc::clone(expected));
            let request = Request::new(self.kind, self.transport.host());
            let mut caller = Caller { load, connection, request, expected };
            warming.spawn(async move {
                let start = Instant::now();
                caller.compare().await?;
                while start.elapsed() < caller.load.warm_up {
                    caller.call().await?;
                }
                Ok(caller)
            });
        }
        join(warming).await
    }

    async fn connect(&self) -> Result<Link, Fault> {
        Link::open(&self.address, self.transport).await.map_err(|error| self.wrong(error))
    }

    fn wrong(&self, detail: impl ToString) -> Fault {
        Fault::Answer { system: self.system, detail: detail.to_string() }
    }
}

/// Makes calls until the gate closes or the time is over.
async fn measure(
    callers: Vec<Caller>,
    gate: &Arc<Gate>,
    end: Instant,
) -> Result<Vec<Answer>, Fault> {
    let mut measuring = JoinSet::new();
    for mut caller in callers {
        let gate = Arc::clone(gate);
        measuring.spawn(async move {
            let mut answers = Vec::new();
            while Instant::now() < end && gate.admits() {
                answers.push(caller.call().await?);
            }
            Ok(answers)
        });
    }
    Ok(join(measuring).await?.concat())
}

impl Caller {
    async fn call(&mut self) -> Result<Answer, Fault> {
        let answer = self.exchange(None).await?;
        let (bytes, wanted) = (answer.bytes, self.expected.body.len());
        if self.load.exact && bytes != wanted {
            return Err(self.load.wrong(format!("{bytes} of {wanted} bytes")));
        }
        Ok(answer)
    }

    /// Makes a call and compares its answer by bytes or by words.
    async fn compare(&mut self) -> Result<(), Fault> {
        let mut body = Vec::new();
        self.exchange(Some(&mut body)).await?;
        let wanted = &self.expected.body;
        match self.load.exact {
            true if body != *wanted => Err(self.load.wrong("the bytes differ from the upstream's")),
            false if words(&body) != words(wanted) => {
                Err(self.load.wrong("the words differ from the upstream's"))
            }
            _ => Ok(()),
        }
    }

    async fn exchange(&mut self, keep: Option<&mut Vec<u8>>) -> Result<Answer, Fault> {
        let began = Instant::now();
        if self.load.is_reconnecting {
            self.connection = self.load.connect().await?;
        }
        let connecting = began.elapsed();
        let request = self.request.numbered(self.load.numbers.take());
        let answer = self.connection.call(request, keep).await;
        let mut answer = answer.map_err(|error| self.load.wrong(error))?;
        if self.load.is_reconnecting {
            answer.first += connecting;
            answer.total += connecting;
        }
        match answer.status {
            200 => Ok(answer),
            status => Err(self.load.wrong(format!("status {status}"))),
        }
    }
}

/// Admits calls until their number is used up.
struct Gate(AtomicUsize);

impl Gate {
    fn new(calls: usize) -> Arc<Self> {
        Arc::new(Self(calls.into()))
    }

    fn admits(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

impl Sample {
    fn of(answers: &[Answer], boundaries: u64, elapsed: Duration) -> Self {
        let chunks = answers.iter().map(|answer| answer.chunks);
        Self {
            calls: answers.len(),
            elapsed,
            per_second: answers.len() as f64 / elapsed.as_secs_f64(),
            p50: quantile(answers.iter().map(|answer| answer.total), 0.50),
            p99: quantile(answers.iter().map(|answer| answer.total), 0.99),
            first: quantile(answers.iter().map(|answer| answer.first), 0.50),
            chunks: (chunks.clone().min().unwrap_or(0), chunks.max().unwrap_or(0)),
            boundaries: answers.iter().all(|answer| answer.boundaries == boundaries),
            ..Self::default()
        }
    }
}

/// Returns the results of all tasks of a set, or the first error.
async fn join<T: 'static>(mut tasks: JoinSet<Result<T, Fault>>) -> Result<Vec<T>, Fault> {
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(joined) = tasks.join_next().await {
        let failed =
            |error: tokio::task::JoinError| Fault::Io { what: "make calls", source: error.into() };
        results.push(joined.map_err(failed)??);
    }
    Ok(results)
}
