//! The load generator: N connections over as many threads as there are cores, one
//! call at a time on each connection, every answer read to its end and checked.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::{Answer, Connection, mark};
use crate::fault::Fault;
use crate::quantile::quantile;
use crate::sample::{Kind, Request, words};
use crate::usage;

/// A system that has not answered for so long will not.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much is measured: until either is used up.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// So many calls, over all connections, and one more on each beforehand.
    pub calls: usize,
    /// For so long.
    pub time: Duration,
}

/// The numbers that calls are told apart by.
#[derive(Debug)]
pub struct Numbers {
    next: AtomicU64,
    cycle: u64,
}

impl Numbers {
    /// Zero to `cycle`, again and again.
    pub fn cycle(cycle: u64) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(0), cycle })
    }

    /// Each one once.
    pub fn distinct() -> Arc<Self> {
        Self::cycle(u64::MAX)
    }

    fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) % self.cycle
    }
}

/// What one system is to be asked.
#[derive(Clone, Debug)]
pub struct Load {
    /// Who is asked, for messages.
    pub system: &'static str,
    /// Where it listens.
    pub address: String,
    /// Its process.
    pub process: u32,
    /// What it is asked for.
    pub kind: Kind,
    /// Whether its answers must be the upstream's to the byte, or only in the words.
    pub exact: bool,
    /// Open connections.
    pub connections: usize,
    /// How long calls are made before the measuring starts.
    pub warm_up: Duration,
    /// What is measured.
    pub amount: Amount,
    /// Gives each call its number.
    pub numbers: Arc<Numbers>,
}

/// What one round of calls showed.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Calls that were measured.
    pub calls: usize,
    /// From the first call to the end of the last.
    pub elapsed: Duration,
    /// Calls per second, over all connections.
    pub per_second: f64,
    /// Half of the calls were answered in full within this.
    pub p50: Duration,
    /// All but a hundredth of the calls were answered in full within this.
    pub p99: Duration,
    /// Half of the calls had their first body byte within this.
    pub first: Duration,
    /// The fewest and the most chunks of an answer.
    pub chunks: (usize, usize),
    /// Whether every answer had the upstream's chunks.
    pub boundaries: bool,
    /// Processor time of the system, per call.
    pub cost: Duration,
    /// Processor time of the load generator, per call.
    pub load_cost: Duration,
    /// The share of its threads' time that the load generator was at work.
    pub load_share: f64,
}

/// What a right answer is.
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

/// One connection with what it needs to make calls.
struct Caller {
    load: Arc<Load>,
    connection: Connection,
    request: Request,
    expected: Arc<Expected>,
}

/// What one thread brings home.
type Harvest = Result<(Vec<Answer>, Duration), Fault>;

impl Load {
    /// Connects, compares, warms up, measures.
    ///
    /// # Errors
    /// A connection that fails, an answer that is wrong, or none for too long.
    pub async fn run(self) -> Result<Sample, Fault> {
        let (sender, sample) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // Nobody waits any more where the benchmark was told to stop.
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
                // Connections that do not divide evenly go to the first threads.
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
        sample.load_cost = spent.div_f64(calls);
        sample.load_share = spent.as_secs_f64() / (elapsed.as_secs_f64() * threads as f64);
        Ok(sample)
    }

    /// One thread's part, over `own` connections.
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
        // The others wait for this thread whatever became of it.
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

    /// Connections that have each been answered well.
    async fn prepare(
        self: &Arc<Self>,
        own: usize,
        expected: &Arc<Expected>,
    ) -> Result<Vec<Caller>, Fault> {
        let mut warming = JoinSet::new();
        for _ in 0..own {
            let connection =
                Connection::open(&self.address).await.map_err(|error| self.wrong(error))?;
            let (load, expected) = (Arc::clone(self), Arc::clone(expected));
            let request = Request::new(self.kind);
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

    fn wrong(&self, detail: impl ToString) -> Fault {
        Fault::Answer { system: self.system, detail: detail.to_string() }
    }
}

/// Calls until the gate closes or the time is over.
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

    /// Makes a call and compares its answer, byte by byte or word by word.
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
        let request = self.request.numbered(self.load.numbers.take());
        let answer = self.connection.call(request, keep).await;
        let answer = answer.map_err(|error| self.load.wrong(error))?;
        match answer.status {
            200 => Ok(answer),
            status => Err(self.load.wrong(format!("status {status}"))),
        }
    }
}

/// Lets calls begin until their number is used up.
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

/// What all tasks of a set return, or the first error.
async fn join<T: 'static>(mut tasks: JoinSet<Result<T, Fault>>) -> Result<Vec<T>, Fault> {
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(joined) = tasks.join_next().await {
        let failed =
            |error: tokio::task::JoinError| Fault::Io { what: "make calls", source: error.into() };
        results.push(joined.map_err(failed)??);
    }
    Ok(results)
}
