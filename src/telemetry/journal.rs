//! The journal: one line for each call, in memory for the control endpoint and optionally in a file
//! of JSON lines. A separate thread writes the file.
//!
//! A line is kept as a record, and turned into text when it is read. The lines in memory, and those
//! that wait to be written, are limited in number and in bytes. No call ever waits for either.

mod file;
pub mod follow;
mod item;
pub mod line;
mod queue;

pub use file::JournalFile;
pub use item::{ConnectionFault, FaultMark, OnJournalError};

use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::call_record::CallRecord;
use item::{JournalItem, NumberedLine};
use queue::LineQueue;

/// The number of lines kept in memory.
const KEPT: usize = 1000;
/// About how many bytes they may take.
const KEPT_BYTES: usize = 16 << 20;
/// How long calls that are open at the end of a run have to end.
const CLOSING_GRACE: Duration = Duration::from_secs(1);

/// A slot for a line in memory. Slots are aligned so that threads that fill neighbouring slots do
/// not share a cache line of the processor.
#[derive(Debug, Default)]
#[repr(align(64))]
struct JournalSlot(Mutex<Option<NumberedLine>>);

impl JournalSlot {
    fn lock(&self) -> MutexGuard<'_, Option<NumberedLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open connection.
pub struct OpenConnection(watch::Receiver<bool>);

impl OpenConnection {
    /// Returns once the connection must end, even if it is busy.
    pub async fn wait_until_closing(&mut self) {
        // A dropped sender also means that the run has ended.
        drop(self.0.wait_for(|over| *over).await.map(|over| *over));
    }
}

/// The journal of a run.
#[derive(Debug)]
pub struct Journal {
    /// The latest lines, each in the slot of its number, so that calls that are answered at the
    /// same time do not wait for each other.
    recent: Box<[JournalSlot]>,
    /// The bytes that the lines take. Too low for a moment when a line is removed before it is
    /// counted.
    bytes: AtomicIsize,
    /// The number of the oldest line that may still be present.
    oldest: AtomicU64,
    /// The last number that was assigned.
    last: AtomicU64,
    /// `None` if no file is written.
    queue: Option<LineQueue>,
    /// Whether the journal can no longer be followed.
    ended: AtomicBool,
    followers: Arc<()>,
    /// Subscribed to by open connections, which must end when the last lines are written.
    open: watch::Sender<bool>,
}

impl Journal {
    /// Creates a journal in memory, and in `file` if one is given. The callback gets the errors of
    /// the file.
    pub fn new(file: Option<(JournalFile, OnJournalError)>) -> Self {
        Self {
            recent: (0..KEPT).map(|_| JournalSlot::default()).collect(),
            bytes: AtomicIsize::new(0),
            oldest: AtomicU64::new(1),
            last: AtomicU64::new(0),
            queue: file.map(|(file, on_error)| LineQueue::start(file, on_error)),
            ended: AtomicBool::new(false),
            followers: Arc::default(),
            open: watch::channel(false).0,
        }
    }

    /// Adds the line of a call, and returns the call. What is left in `seen` is of no use.
    pub fn add_call(&self, seen: &mut CallRecord) -> Arc<CallRecord> {
        let weight = seen.weight();
        self.keep_line(weight, |old| {
            let seen = in_place_of(old, seen);
            (JournalItem::Call(Arc::clone(&seen)), seen)
        })
    }

    /// Adds the line of a connection fault.
    pub fn add_connection_fault(&self, fault: ConnectionFault) {
        self.keep_line(size_of::<CallRecord>(), |_| {
            (JournalItem::ConnectionFault(Box::new(fault)), ())
        });
    }

    /// Adds the line of a later stage of a fault, such as its recovery.
    pub fn add_fault_mark(&self, mark: FaultMark) {
        self.keep_line(size_of::<CallRecord>(), |_| (JournalItem::Mark(Box::new(mark)), ()));
    }

    /// Keeps a line of this weight in memory and has it written. `make` gets the line that it
    /// replaces, and may reuse its memory.
    fn keep_line<T>(
        &self,
        weight: usize,
        make: impl FnOnce(Option<JournalItem>) -> (JournalItem, T),
    ) -> T {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut place = self.slot_for_line(number).lock();
        // A line that was delayed must not replace a later one.
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
        self.update_bytes(weight, freed);
        while self.bytes.load(Ordering::Relaxed) > KEPT_BYTES as isize
            && let Some(oldest) = self.let_go(number)
        {
            let gone = self.slot_for_line(oldest).lock().take_if(|there| there.number == oldest);
            self.update_bytes(0, gone.map_or(0, |line| line.weight));
        }
        made
    }

    /// Returns the slot of the line of this number.
    fn slot_for_line(&self, number: u64) -> &JournalSlot {
        &self.recent[number as usize % KEPT]
    }

    /// Updates the count of bytes. The two numbers are mostly equal, so calls that are answered at
    /// the same time do not contend here.
    fn update_bytes(&self, more: usize, less: usize) {
        if more != less {
            self.bytes.fetch_add(more as isize - less as isize, Ordering::Relaxed);
        }
    }

    /// Returns the number of the oldest line before this one that may still be present, and removes
    /// it from the range. Skips lines whose slot has been reused.
    fn let_go(&self, number: u64) -> Option<u64> {
        let first = |oldest: u64| oldest.max(number.saturating_sub(KEPT as u64));
        let next = |oldest: u64| (first(oldest) < number).then(|| first(oldest) + 1);
        let taken = self.oldest.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        taken.ok().map(first)
    }

    /// Returns the latest lines, oldest first.
    pub fn recent_lines(&self) -> Vec<Value> {
        let lines = self.recent.iter().filter_map(|place| place.lock().clone());
        let mut lines: Vec<NumberedLine> = lines.collect();
        lines.sort_unstable_by_key(|line| line.number);
        lines.iter().map(NumberedLine::to_json).collect()
    }

    /// Returns the line of this number and its call, while it is in memory.
    pub fn find_line(&self, number: u64) -> Option<(Value, Option<Arc<CallRecord>>)> {
        let line = self.slot_for_line(number).lock().clone()?;
        let seen = match &line.item {
            JournalItem::Call(seen) => Some(Arc::clone(seen)),
            JournalItem::ConnectionFault(_) | JournalItem::Mark(_) => None,
        };
        (line.number == number).then(|| (line.to_json(), seen))
    }

    /// Returns the numbers of the oldest line that may still be in memory, and of the last one.
    pub fn line_bounds(&self) -> (u64, u64) {
        (self.oldest.load(Ordering::Acquire).max(1), self.line_count())
    }

    /// Returns how many lines there have been so far.
    pub fn line_count(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns the state of the journal, for the control endpoint.
    pub fn health_json(&self) -> Value {
        let file = self.queue.as_ref().map(|queue| queue.counts().to_json());
        json!({
            "lines": self.last.load(Ordering::Relaxed),
            "followers": self.follower_count(),
            "file": file,
        })
    }

    /// Returns how many lines could not be written so far.
    pub fn lost_lines(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.counts().lost_lines())
    }

    /// Returns the number of followers.
    fn follower_count(&self) -> usize {
        Arc::strong_count(&self.followers) - 1
    }

    /// Ends all followers: the run is over.
    pub fn end_following(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Registers an open connection. Once the result is dropped, the connection's calls have their
    /// lines.
    pub fn open_connection(&self) -> OpenConnection {
        OpenConnection(self.open.subscribe())
    }

    /// Ends the connections that are still open, so that their calls get their lines.
    pub async fn end_followers(&self) {
        self.end_following();
        self.open.send_replace(true);
        // The lines of a connection that does not end in time are lost.
        drop(tokio::time::timeout(CLOSING_GRACE, self.open.closed()).await);
    }

    /// Writes the remaining lines and closes the file.
    ///
    /// # Errors
    /// How many lines were not written, and the reason.
    pub fn close(&self) -> Result<(), String> {
        self.end_following();
        self.queue.as_ref().map_or(Ok(()), LineQueue::close)
    }
}

/// Keeps a call in the memory of the line that it replaces, if nothing else refers to that line.
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
