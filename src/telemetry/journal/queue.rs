//! The queue between calls and the journal's file: bounded, and emptied by a thread.
//!
//! Lines that do not fit are counted and dropped. The thread takes everything that waits at once,
//! so that under load few calls have to wake it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::file::JournalFile;
use super::item::{NumberedLine, OnJournalError};
use super::line;

/// At most this many lines may wait.
const LINES: usize = 8192;
/// About how many bytes they may take in memory.
const BYTES: usize = 16 << 20;
/// About how many bytes are written at once.
const BATCH: usize = 64 << 10;
/// How long lines are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);
/// How long the end of a run waits for a file that accepts no data.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// How many lines were written and how many were lost.
#[derive(Debug, Default)]
pub(super) struct LineCounts {
    written: AtomicU64,
    /// Lines that did not fit into the queue.
    left_out: AtomicU64,
    /// Lines that could not be written to the file.
    refused: AtomicU64,
    /// The highest number of a line, including lost ones.
    last: AtomicU64,
    /// Why lines were lost most recently.
    why: Mutex<Option<String>>,
}

impl LineCounts {
    /// Returns how many lines are not in the file.
    pub(super) fn lost_lines(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "written": self.written.load(Ordering::Relaxed),
            "lost": self.lost_lines(),
            "error": *self.why.lock().unwrap_or_else(PoisonError::into_inner),
        })
    }

    /// Notes why lines are lost. Returns whether this reason differs from the last one.
    fn note_reason(&self, why: &str) -> bool {
        let mut reported = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        reported.replace(why.to_owned()).as_deref() != Some(why)
    }
}

enum QueueTask {
    Line(NumberedLine),
    Close,
}

/// The queue of lines.
#[derive(Debug)]
pub(super) struct LineQueue {
    tasks: SyncSender<QueueTask>,
    /// The bytes of the waiting lines.
    waiting: Arc<AtomicUsize>,
    counts: Arc<LineCounts>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LineQueue {
    /// Starts the thread, which writes to `file` and reports errors to `on_error`.
    pub(super) fn start(file: JournalFile, on_error: OnJournalError) -> Self {
        let (tasks, receiver) = sync_channel(LINES);
        let (waiting, counts) = (Arc::<AtomicUsize>::default(), Arc::<LineCounts>::default());
        let work = JournalThread {
            file,
            on_error,
            waiting: Arc::clone(&waiting),
            counts: Arc::clone(&counts),
            batch: Vec::new(),
        };
        let thread = std::thread::spawn(move || work.run(&receiver));
        Self { tasks, waiting, counts, thread: Mutex::new(Some(thread)) }
    }

    /// Returns the counts of lines so far.
    pub(super) fn counts(&self) -> &LineCounts {
        &self.counts
    }

    /// Has a line written, unless too much is waiting already.
    pub(super) fn add(&self, line: NumberedLine) {
        let (weight, number) = (line.weight, line.number);
        let waiting = self.waiting.fetch_add(weight, Ordering::Relaxed);
        let fits = waiting + weight <= BYTES;
        if !fits || self.tasks.try_send(QueueTask::Line(line)).is_err() {
            self.waiting.fetch_sub(weight, Ordering::Relaxed);
            self.counts.last.fetch_max(number, Ordering::Relaxed);
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Has the waiting lines written, and ends the thread.
    ///
    /// # Errors
    /// How many lines are not in the file, and the reason.
    pub(super) fn close(&self) -> Result<(), String> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        let until = Instant::now() + PATIENCE;
        while self.tasks.try_send(QueueTask::Close).is_err() && Instant::now() < until {
            if thread.is_finished() {
                break;
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        while !thread.is_finished() {
            if Instant::now() >= until {
                return Err(format!(
                    "the file accepts no data: {} lines were written, the others are lost",
                    self.counts.written.load(Ordering::Relaxed)
                ));
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        let lost = self.counts.lost_lines();
        if lost == 0 {
            return Ok(());
        }
        let why = self.counts.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let why = why.unwrap_or_else(|| "more came than could be written".to_owned());
        Err(format!("{lost} lines are lost: {why}"))
    }
}

/// The state of the thread.
struct JournalThread {
    file: JournalFile,
    on_error: OnJournalError,
    waiting: Arc<AtomicUsize>,
    counts: Arc<LineCounts>,
    batch: Vec<u8>,
}

impl JournalThread {
    /// Writes lines as they arrive, until the queue is closed.
    fn run(mut self, tasks: &Receiver<QueueTask>) {
        let mut open = true;
        while open {
            let Ok(task) = tasks.recv() else { return };
            open = self.add_to_batch(task);
            while open && let Ok(task) = tasks.try_recv() {
                open = self.add_to_batch(task);
            }
            self.write_batch();
            if open {
                std::thread::sleep(GATHER);
            }
        }
        self.write_loss();
    }

    /// Ends a journal that has lost lines with a line that says so. If there is no room for it, it
    /// replaces the last lines.
    fn write_loss(&mut self) {
        let lost = self.counts.lost_lines();
        if lost == 0 {
            return;
        }
        let last = self.counts.last.load(Ordering::Relaxed);
        let line = |lines: u64| {
            let mut line = Vec::new();
            line::write_skipped(&mut line, lines, last);
            line
        };
        if self.file.append(&line(lost)).is_ok() {
            return;
        }
        // Nothing can be removed from a pipe or a device. The loss of lines has been reported.
        if let Ok(gone) = self.file.take_back(line(u64::MAX).len() as u64) {
            self.counts.refused.fetch_add(gone, Ordering::Relaxed);
            drop(self.file.append(&line(self.counts.lost_lines())));
        }
    }

    /// Adds a line to the batch. Returns whether there may be more.
    fn add_to_batch(&mut self, task: QueueTask) -> bool {
        let QueueTask::Line(line) = task else { return false };
        self.counts.last.fetch_max(line.number, Ordering::Relaxed);
        self.waiting.fetch_sub(line.weight, Ordering::Relaxed);
        line.write(&mut self.batch);
        if self.batch.len() > BATCH {
            self.write_batch();
        }
        true
    }

    /// Writes the batch.
    fn write_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let outcome = self.file.append(&self.batch);
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
        let (written, error) = match outcome {
            Ok(()) => (self.batch.len(), None),
            Err((written, error)) => (written, Some(error)),
        };
        let (written, lost) = self.batch.split_at(written);
        self.counts.written.fetch_add(lines(written), Ordering::Relaxed);
        if let Some(error) = error {
            self.counts.refused.fetch_add(lines(lost), Ordering::Relaxed);
            let why = error.to_string();
            if self.counts.note_reason(&why) {
                (self.on_error)(&format!("lines are lost, and traffic goes on: {why}"));
            }
        }
        self.batch.clear();
    }
}
