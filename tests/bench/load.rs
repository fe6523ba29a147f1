//! The load generator: N connections, one call at a time on each, every answer
//! read to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::{Answer, Connection};
use crate::fault::Fault;
use crate::plan::Amount;
use crate::sample::{Kind, Request};

/// What one system is to be asked.
#[derive(Clone, Debug)]
pub struct Load {
    /// Who is asked, for messages.
    pub system: &'static str,
    /// Where it listens.
    pub address: String,
    /// What it is asked for.
    pub kind: Kind,
    /// Open connections.
    pub connections: usize,
    /// What is measured.
    pub amount: Amount,
    /// Gives each call a number of its own; without it, all calls are the same.
    pub numbers: Option<Arc<AtomicU64>>,
}

/// What one round of calls showed.
#[derive(Debug, Default)]
pub struct Sample {
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
}

/// One connection with what it needs to make calls.
struct Caller {
    load: Load,
    connection: Connection,
    request: Request,
    /// The body that must come back.
    expected: Arc<Vec<u8>>,
}

impl Load {
    /// Connects, warms up, measures.
    ///
    /// # Errors
    /// A connection that fails, an answer that is wrong.
    pub async fn run(&self) -> Result<Sample, Fault> {
        let expected = Arc::new(self.kind.body());
        let mut warming = JoinSet::new();
        for _ in 0..self.connections {
            let mut caller = self.caller(Arc::clone(&expected)).await?;
            let warm_up = self.warm_up();
            warming.spawn(async move {
                let start = Instant::now();
                caller.compare().await?;
                while start.elapsed() < warm_up {
                    caller.call().await?;
                }
                Ok(caller)
            });
        }
        let callers: Result<Vec<Caller>, Fault> = join(warming).await.into_iter().collect();
        let gate = Arc::new(Gate::new(self.amount));
        let start = Instant::now();
        let mut measuring = JoinSet::new();
        for mut caller in callers? {
            let gate = Arc::clone(&gate);
            measuring.spawn(async move {
                let mut answers = Vec::new();
                while gate.admits() {
                    answers.push(caller.call().await?);
                }
                Ok(answers)
            });
        }
        let answers: Result<Vec<Vec<Answer>>, Fault> = join(measuring).await.into_iter().collect();
        Ok(Sample::of(&answers?.concat(), start.elapsed()))
    }

    /// Calls that are kept are not wasted on warming up: one a connection must do.
    fn warm_up(&self) -> Duration {
        match self.amount {
            Amount::For(time) => time / 5,
            Amount::Calls(_) => Duration::ZERO,
        }
    }

    async fn caller(&self, expected: Arc<Vec<u8>>) -> Result<Caller, Fault> {
        let connection =
            Connection::open(&self.address).await.map_err(|error| self.wrong(error))?;
        // One host for all: what is asked for must not depend on who is asked.
        let request = Request::new(self.kind, "api.bench.test");
        Ok(Caller { load: self.clone(), connection, request, expected })
    }

    fn wrong(&self, detail: impl ToString) -> Fault {
        Fault::Answer { system: self.system, detail: detail.to_string() }
    }
}

impl Caller {
    async fn call(&mut self) -> Result<Answer, Fault> {
        self.exchange(None).await
    }

    /// Makes a call and compares its answer byte by byte.
    async fn compare(&mut self) -> Result<(), Fault> {
        let mut body = Vec::new();
        self.exchange(Some(&mut body)).await?;
        if body == *self.expected {
            return Ok(());
        }
        Err(self.load.wrong("the body differs from what the bare server sends"))
    }

    async fn exchange(&mut self, keep: Option<&mut Vec<u8>>) -> Result<Answer, Fault> {
        let number = match &self.load.numbers {
            Some(numbers) => numbers.fetch_add(1, Ordering::Relaxed),
            None => 0,
        };
        let request = self.request.numbered(number);
        let answer = self.connection.call(request, keep).await;
        let answer = answer.map_err(|error| self.load.wrong(error))?;
        if answer.status != 200 || answer.bytes != self.expected.len() {
            let (status, bytes, wanted) = (answer.status, answer.bytes, self.expected.len());
            return Err(self.load.wrong(format!("status {status}, {bytes} of {wanted} bytes")));
        }
        Ok(answer)
    }
}

/// Lets calls begin until the amount is used up.
struct Gate {
    end: Option<Instant>,
    left: AtomicUsize,
}

impl Gate {
    fn new(amount: Amount) -> Self {
        match amount {
            Amount::For(time) => Self { end: Some(Instant::now() + time), left: 0.into() },
            Amount::Calls(calls) => Self { end: None, left: calls.into() },
        }
    }

    fn admits(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        match self.end {
            Some(end) => Instant::now() < end,
            None => self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok(),
        }
    }
}

impl Sample {
    fn of(answers: &[Answer], elapsed: Duration) -> Self {
        let chunks = answers.iter().map(|answer| answer.chunks);
        Self {
            per_second: answers.len() as f64 / elapsed.as_secs_f64(),
            p50: quantile(answers.iter().map(|answer| answer.total), 0.50),
            p99: quantile(answers.iter().map(|answer| answer.total), 0.99),
            first: quantile(answers.iter().map(|answer| answer.first), 0.50),
            chunks: (chunks.clone().min().unwrap_or(0), chunks.max().unwrap_or(0)),
        }
    }
}

/// The value that `share` of all values do not exceed.
fn quantile(values: impl Iterator<Item = Duration>, share: f64) -> Duration {
    let mut sorted: Vec<Duration> = values.collect();
    sorted.sort_unstable();
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// What all tasks of a set return.
async fn join<T: 'static>(mut tasks: JoinSet<Result<T, Fault>>) -> Vec<Result<T, Fault>> {
    let mut results = Vec::with_capacity(tasks.len());
    while let Some(joined) = tasks.join_next().await {
        let failed =
            |error: tokio::task::JoinError| Fault::Io { what: "make calls", source: error.into() };
        results.push(joined.map_err(failed).and_then(|result| result));
    }
    results
}
