//! The journal: one line for each call, in memory for the control endpoint and,
//! if asked for, in a file of JSON lines. A thread does the writing.
//!
//! A line is kept as what it is made of, and written out when somebody reads it. What is
//! kept in memory, and what waits to be written, is bounded in lines and in bytes; no call
//! ever waits for either.

mod file;
pub mod follow;
mod item;
pub mod line;
mod queue;

pub use file::{JournalFile, JournalRotation, parts};
pub use item::{ConnectionFault, FaultMark, OnJournalError};

use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::call_record::CallRecord;
use item::{JournalItem, NumberedLine};
use queue::LineQueue;

/// Lines kept in memory.
const KEPT: usize = 1000;
/// Bytes that they take, about, at most.
const KEPT_BYTES: usize = 16 << 20;
/// How long the calls still open at the end of a run are given to end.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The place of a line in memory. Those who put lines into places beside one another do not
/// share a line of the processor's cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place(Mutex<Option<NumberedLine>>);

impl Place {
    fn lock(&self) -> MutexGuard<'_, Option<NumberedLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is open.
pub struct OpenConnection(watch::Receiver<bool>);

impl OpenConnection {
    /// Returns once it is to end, whatever it is at.
    pub async fn last_word(&mut self) {
        // A sender that is gone has told as well.
        drop(self.0.wait_for(|over| *over).await.map(|over| *over));
    }
}

/// Where lines go.
#[derive(Debug)]
pub struct Journal {
    /// The latest lines, each at its number's place, so that calls which are answered at
    /// once do not wait for each other.
    recent: Box<[Place]>,
    /// The bytes they take; less for a moment, where a line goes that is yet to be counted.
    bytes: AtomicIsize,
    /// The number of the oldest that may still be there.
    oldest: AtomicU64,
    /// The last number given out.
    last: AtomicU64,
    /// Absent where no file is written.
    queue: Option<LineQueue>,
    /// Whether nobody may follow any more.
    ended: AtomicBool,
    followers: Arc<()>,
    /// Held by connections: told to end when the last lines are written.
    open: watch::Sender<bool>,
}

impl Journal {
    /// A journal in memory, and in `file` where one is given. `told` hears of what goes
    /// wrong with it.
    pub fn new(file: Option<(JournalFile, OnJournalError)>) -> Self {
        Self {
            recent: (0..KEPT).map(|_| Place::default()).collect(),
            bytes: AtomicIsize::new(0),
            oldest: AtomicU64::new(1),
            last: AtomicU64::new(0),
            queue: file.map(|(file, told)| LineQueue::start(file, told)),
            ended: AtomicBool::new(false),
            followers: Arc::default(),
            open: watch::channel(false).0,
        }
    }

    /// Adds the line of a call; gives back the call. What is left in its place is of no use.
    pub fn add(&self, seen: &mut CallRecord) -> Arc<CallRecord> {
        let weight = seen.weight();
        self.keep(weight, |old| {
            let seen = in_place_of(old, seen);
            (JournalItem::Call(Arc::clone(&seen)), seen)
        })
    }

    /// Adds the line of a connection that asked for nothing.
    pub fn add_connection_fault(&self, befallen: ConnectionFault) {
        self.keep(size_of::<CallRecord>(), |_| (JournalItem::Befallen(Box::new(befallen)), ()));
    }

    /// Adds what became of a fault.
    pub fn mark(&self, mark: FaultMark) {
        self.keep(size_of::<CallRecord>(), |_| (JournalItem::Mark(Box::new(mark)), ()));
    }

    /// Keeps a line of this weight in memory and has it written. Who makes it is given the one
    /// whose place it takes, and may use its memory.
    fn keep<T>(
        &self,
        weight: usize,
        make: impl FnOnce(Option<JournalItem>) -> (JournalItem, T),
    ) -> T {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut place = self.place(number).lock();
        // A line that was held up must not take the place of a later one.
        let is_late = place.as_ref().is_some_and(|there| there.number > number);
        let (old, freed) = match place.take_if(|_| !is_late) {
            Some(there) => (Some(there.item), there.weight),
            None => (None, if is_late { weight } else { 0 }),
        };
        let (item, made) = make(old);
        let line = NumberedLine { number, item, weight };
        let queued = self.queue.as_ref().map(|queue| (queue, line.clone()));
        if !is_late {
            *place = Some(line);
        }
        drop(place);
        if let Some((queue, line)) = queued {
            queue.add(line);
        }
        self.weigh(weight, freed);
        while self.bytes.load(Ordering::Relaxed) > KEPT_BYTES as isize
            && let Some(oldest) = self.let_go(number)
        {
            let gone = self.place(oldest).lock().take_if(|there| there.number == oldest);
            self.weigh(0, gone.map_or(0, |line| line.weight));
        }
        made
    }

    /// The place of the line of this number.
    fn place(&self, number: u64) -> &Place {
        &self.recent[number as usize % KEPT]
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

    /// The latest lines, oldest first.
    pub fn recent(&self) -> Vec<Value> {
        let lines = self.recent.iter().filter_map(|place| place.lock().clone());
        let mut lines: Vec<NumberedLine> = lines.collect();
        lines.sort_unstable_by_key(|line| line.number);
        lines.iter().map(NumberedLine::to_json).collect()
    }

    /// The line of this number, while it is in memory, and the call that it is of.
    pub fn find(&self, number: u64) -> Option<(Value, Option<Arc<CallRecord>>)> {
        let line = self.place(number).lock().clone()?;
        let seen = match &line.item {
            JournalItem::Call(seen) => Some(Arc::clone(seen)),
            JournalItem::Befallen(_) | JournalItem::Mark(_) => None,
        };
        (line.number == number).then(|| (line.to_json(), seen))
    }

    /// How many lines there were so far.
    pub fn count(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
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
    pub fn end_following(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Notes a connection that is open: its calls have their lines once this is dropped.
    pub fn open(&self) -> OpenConnection {
        OpenConnection(self.open.subscribe())
    }

    /// Ends the connections that are still open, so that their calls get their lines.
    pub async fn end_followers(&self) {
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
        self.queue.as_ref().map_or(Ok(()), LineQueue::close)
    }
}

/// A call that is kept where an old line was: in the same memory, where nobody else has it.
fn in_place_of(old: Option<JournalItem>, seen: &mut CallRecord) -> Arc<CallRecord> {
    if let Some(JournalItem::Call(mut old)) = old
        && let Some(place) = Arc::get_mut(&mut old)
    {
        std::mem::swap(place, seen);
        return old;
    }
    let rest = CallRecord::new(seen.at, Arc::clone(&seen.facts), seen.mode);
    Arc::new(std::mem::replace(seen, rest))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
pub(super) mod tests;
