//! The journal: one line for each call, in memory for the control endpoint and,
//! if asked for, in a file of JSON lines. A thread does the writing.
//!
//! A line is kept as what it is made of, and written out when somebody reads it. What is
//! kept in memory, and what waits to be written, is bounded in lines and in bytes; no call
//! ever waits for either.

mod file;
pub mod follow;
pub mod line;
mod queue;

pub use file::{File, Rotation, parts};

use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::clock::timestamp;
use super::seen::Seen;
use line::versioned;
use queue::Queue;

/// Lines kept in memory.
const KEPT: usize = 1000;
/// Bytes that they take, about, at most.
const KEPT_BYTES: usize = 16 << 20;
/// How long the calls still open at the end of a run are given to end.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Told of what went wrong with the file, once for each cause.
pub type OnTold = Box<dyn Fn(&str) + Send>;

/// What became of a fault.
#[derive(Clone, Debug)]
pub struct Mark {
    /// When, in microseconds since 1970.
    pub at: i64,
    /// Its number.
    pub fault: u64,
    /// `fired`, `noticed` by its client, `recovered` from; `given_up`, where its client did
    /// not wait for an answer that was only late.
    pub what: &'static str,
    /// By what it was noticed: the client came `again`, or `left`.
    pub by: Option<&'static str>,
    /// When, in milliseconds since the run began.
    pub at_ms: f64,
}

impl Mark {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let Self { at, fault, what, by, at_ms } = self;
        versioned([
            ("at", json!(timestamp(*at))),
            ("outcome", json!(what)),
            ("fault", json!(fault)),
            ("by", json!(by)),
            ("at_ms", json!(at_ms)),
        ])
    }
}

/// A connection that a fault befell before anything was asked on it.
#[derive(Clone, Debug)]
pub struct Befallen {
    /// When it came, in microseconds since 1970.
    pub at: i64,
    /// Its number, from 1.
    pub connection: u64,
    /// The fault it got.
    pub fault: Arc<Value>,
}

/// What stands in a journal.
#[derive(Clone, Debug)]
enum Item {
    Call(Arc<Seen>),
    Befallen(Befallen),
    Mark(Mark),
}

impl Item {
    /// When it was, in microseconds since 1970.
    fn at(&self) -> i64 {
        match self {
            Self::Call(seen) => seen.at,
            Self::Befallen(Befallen { at, .. }) | Self::Mark(Mark { at, .. }) => *at,
        }
    }

    /// The bytes it takes in memory, about.
    fn weight(&self) -> usize {
        match self {
            Self::Call(seen) => seen.weight(),
            Self::Befallen(_) | Self::Mark(_) => size_of::<Seen>(),
        }
    }

    fn to_json(&self, number: u64) -> Value {
        let mut line = match self {
            Self::Call(seen) => return line::read(seen, Some(number)),
            Self::Befallen(Befallen { at, connection, fault }) => versioned([
                ("at", json!(timestamp(*at))),
                ("outcome", json!("faulted")),
                ("connection", json!(connection)),
                ("fault", json!(**fault)),
            ]),
            Self::Mark(mark) => mark.to_json(),
        };
        if let Value::Object(fields) = &mut line {
            // Behind the version.
            fields.shift_insert(1, "seq".to_owned(), Value::from(number));
        }
        line
    }
}

/// A line with its number, from 1, in the order in which lines came to be.
#[derive(Clone, Debug)]
struct Numbered {
    number: u64,
    item: Item,
    /// The bytes it takes in memory, about.
    weight: usize,
}

impl Numbered {
    fn to_json(&self) -> Value {
        self.item.to_json(self.number)
    }

    /// Writes it as a line of text.
    fn write(&self, out: &mut Vec<u8>) {
        match &self.item {
            Item::Call(seen) => line::write(seen, Some(self.number), out),
            // Writing to memory does not fail.
            _ => drop(serde_json::to_writer(&mut *out, &self.to_json())),
        }
        out.push(b'\n');
    }
}

/// A connection that is open.
pub(super) struct Open(watch::Receiver<bool>);

impl Open {
    /// Returns once it is to end, whatever it is at.
    pub(super) async fn last_word(&mut self) {
        // A sender that is gone has told as well.
        drop(self.0.wait_for(|over| *over).await.map(|over| *over));
    }
}

/// Where lines go.
#[derive(Debug)]
pub struct Journal {
    /// The latest lines, each at its number's place, so that calls which are answered at
    /// once do not wait for each other.
    recent: Box<[Mutex<Option<Numbered>>]>,
    /// The bytes they take; less for a moment, where a line goes that is yet to be counted.
    bytes: AtomicIsize,
    /// The number of the oldest that may still be there.
    oldest: AtomicU64,
    /// The last number given out.
    last: AtomicU64,
    /// Absent where no file is written.
    queue: Option<Queue>,
    /// Whether nobody may follow any more.
    ended: AtomicBool,
    followers: Arc<()>,
    /// Held by connections: told to end when the last lines are written.
    open: watch::Sender<bool>,
}

impl Journal {
    /// A journal in memory, and in `file` where one is given. `told` hears of what goes
    /// wrong with it.
    pub fn new(file: Option<(File, OnTold)>) -> Self {
        Self {
            recent: (0..KEPT).map(|_| Mutex::default()).collect(),
            bytes: AtomicIsize::new(0),
            oldest: AtomicU64::new(1),
            last: AtomicU64::new(0),
            queue: file.map(|(file, told)| Queue::start(file, told)),
            ended: AtomicBool::new(false),
            followers: Arc::default(),
            open: watch::channel(false).0,
        }
    }

    /// Adds the line of a call.
    pub fn add(&self, seen: impl Into<Arc<Seen>>) {
        self.keep(Item::Call(seen.into()));
    }

    /// Adds the line of a connection that asked for nothing.
    pub fn add_befallen(&self, befallen: Befallen) {
        self.keep(Item::Befallen(befallen));
    }

    /// Adds what became of a fault.
    pub fn mark(&self, mark: Mark) {
        self.keep(Item::Mark(mark));
    }

    fn keep(&self, item: Item) {
        let weight = item.weight();
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let line = Numbered { number, item, weight };
        if let Some(queue) = &self.queue {
            queue.add(line.clone());
        }
        let freed = self.put(number, Some(line));
        self.weigh(weight, freed);
        while self.bytes.load(Ordering::Relaxed) > KEPT_BYTES as isize
            && let Some(oldest) = self.let_go(number)
        {
            let freed = self.put(oldest, None);
            self.weigh(0, freed);
        }
    }

    /// Notes what is more, and what is less. Mostly one is the other: calls that are
    /// answered at once do not meet here.
    fn weigh(&self, more: usize, less: usize) {
        if more != less {
            self.bytes.fetch_add(more as isize - less as isize, Ordering::Relaxed);
        }
    }

    /// The number of the oldest line that may still be there and is older than this one,
    /// which is to go; those whose place has been taken are passed over.
    fn let_go(&self, number: u64) -> Option<u64> {
        let first = |oldest: u64| oldest.max(number.saturating_sub(KEPT as u64));
        let next = |oldest: u64| (first(oldest) < number).then(|| first(oldest) + 1);
        let taken = self.oldest.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        taken.ok().map(first)
    }

    /// Puts a line into its place, or takes the one of this number out of it; how many
    /// bytes that frees.
    fn put(&self, number: u64, line: Option<Numbered>) -> usize {
        let place = &self.recent[number as usize % KEPT];
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        // A line that was held up must not take the place of a later one.
        let other = match &*place {
            Some(there) if there.number > number => line,
            Some(there) if line.is_none() && there.number != number => None,
            _ => std::mem::replace(&mut *place, line),
        };
        drop(place);
        other.map_or(0, |other| other.weight)
    }

    /// The latest lines, oldest first.
    pub fn recent(&self) -> Vec<Value> {
        let lines = self
            .recent
            .iter()
            .filter_map(|place| place.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let mut lines: Vec<Numbered> = lines.collect();
        lines.sort_unstable_by_key(|line| line.number);
        lines.iter().map(Numbered::to_json).collect()
    }

    /// The line of this number, while it is in memory, and the call that it is of.
    pub(super) fn find(&self, number: u64) -> Option<(Value, Option<Arc<Seen>>)> {
        let place = &self.recent[number as usize % KEPT];
        let line = place.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let seen = match &line.item {
            Item::Call(seen) => Some(Arc::clone(seen)),
            Item::Befallen(_) | Item::Mark(_) => None,
        };
        (line.number == number).then(|| (line.to_json(), seen))
    }

    /// How many lines there were so far.
    pub(super) fn count(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// How it does, for the control endpoint.
    pub fn health(&self) -> Value {
        let file = self.queue.as_ref().map(|queue| queue.counts().to_json());
        json!({
            "lines": self.last.load(Ordering::Relaxed),
            "followers": self.followers(),
            "file": file,
        })
    }

    /// Lines that were to be written and could not be, so far.
    pub fn lost(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.counts().lost())
    }

    /// How many follow it.
    fn followers(&self) -> usize {
        Arc::strong_count(&self.followers) - 1
    }

    /// Ends whoever follows: the run is over.
    pub(super) fn end_following(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Notes a connection that is open: its calls have their lines once this is dropped.
    pub(super) fn open(&self) -> Open {
        Open(self.open.subscribe())
    }

    /// Ends the connections that are still open, so that their calls get their lines.
    pub async fn hang_up(&self) {
        self.end_following();
        self.open.send_replace(true);
        // A connection that cannot end takes its line with it.
        drop(tokio::time::timeout(LAST_WORD, self.open.closed()).await);
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// How many lines were not written, and why.
    pub fn close(&self) -> Result<(), String> {
        self.end_following();
        self.queue.as_ref().map_or(Ok(()), Queue::close)
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
