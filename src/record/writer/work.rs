//! The writer's thread: everything that may take time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::task::{OnWriterEvent, WaitingExchange, WriterEvent, WriterTask, report_all};
use crate::os;
use crate::store::{self, CompactionDone, StoreError};

/// Exchanges written in one go at the most.
const BATCH: usize = 1024;

/// How much less of the processor a compaction asks for than the traffic does.
const FOLD_NICENESS: i32 = 10;

/// What the thread holds.
pub(super) struct WriterState {
    recording: Arc<Mutex<store::RecordingAppender>>,
    waits: Arc<AtomicBool>,
    on_told: OnWriterEvent,
    /// How a compaction's thread says that it is over.
    folds: Sender<WriterTask>,
    /// The compaction that is going on.
    folding: Option<JoinHandle<()>>,
    /// The troubles that have been told.
    said: HashSet<String>,
}

impl WriterState {
    pub(super) fn new(
        recording: Arc<Mutex<store::RecordingAppender>>,
        waits: Arc<AtomicBool>,
        on_told: OnWriterEvent,
        folds: Sender<WriterTask>,
    ) -> Self {
        Self { recording, waits, on_told, folds, folding: None, said: HashSet::new() }
    }

    /// Takes all that is there, appends it, tells everyone; compacts now and then.
    pub(super) fn run(mut self, tasks: &Receiver<WriterTask>) -> Result<(), String> {
        let mut batch = Vec::new();
        let mut open = true;
        self.report_events();
        while open {
            match self.next(tasks) {
                Some(task) => open = self.take(task, &mut batch),
                None => self.start_compaction(),
            }
            while open && batch.len() < BATCH {
                match tasks.try_recv() {
                    Ok(task) => open = self.take(task, &mut batch),
                    Err(_) => break,
                }
            }
            self.append(&mut batch);
        }
        self.close(tasks)
    }

    fn recording(&self) -> MutexGuard<'_, store::RecordingAppender> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; `None` when it is time for a compaction.
    fn next(&self, tasks: &Receiver<WriterTask>) -> Option<WriterTask> {
        let due = if self.folding.is_none() { self.recording().compaction_due() } else { None };
        let Some(due) = due else {
            // We hold a sender ourselves, so this ends with a task only.
            return Some(tasks.recv().unwrap_or(WriterTask::Close));
        };
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // Tasks that never cease must not put it off.
            return None;
        }
        match tasks.recv_timeout(left) {
            Ok(task) => Some(task),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(WriterTask::Close),
        }
    }

    /// Takes a task; `false` when it was the last.
    fn take(&mut self, task: WriterTask, batch: &mut Vec<WaitingExchange>) -> bool {
        match task {
            WriterTask::Keep(more) => batch.extend(more),
            WriterTask::Kept => self.report_events(),
            WriterTask::Folded(done, took) => self.compaction_done(*done, took),
            WriterTask::Close => return false,
        }
        true
    }

    fn append(&mut self, batch: &mut Vec<WaitingExchange>) {
        if batch.is_empty() {
            return;
        }
        let outcome = self.keep(batch);
        report_all(batch.drain(..), &outcome);
        self.report_events();
    }

    /// Keeps a batch; while that means to wait, exchanges are queued.
    fn keep(&self, batch: &mut [WaitingExchange]) -> Result<(), StoreError> {
        let kept = self.recording().keep_now(batch);
        kept.unwrap_or_else(|| {
            self.waits.store(true, Ordering::Release);
            let kept = self.recording().keep(batch);
            self.waits.store(false, Ordering::Release);
            kept
        })
    }

    /// Has a compaction done on a thread of its own.
    fn start_compaction(&mut self) {
        let job = self.recording().start_compaction();
        let folds = self.folds.clone();
        let thread = std::thread::Builder::new().name("loomrec-fold".to_owned()).spawn(move || {
            // A writer that is gone has closed the recording itself.
            // Traffic has the processor first.
            os::lower_thread_priority(FOLD_NICENESS);
            let began = Instant::now();
            let done = Box::new(job.run());
            drop(folds.send(WriterTask::Folded(done, began.elapsed())));
        });
        match thread {
            Ok(thread) => self.folding = Some(thread),
            Err(error) => {
                self.recording().compaction_refused();
                self.trouble(format!("failed to start a thread to compact the log: {error}"));
            }
        }
    }

    fn compaction_done(&mut self, done: CompactionDone, took: Duration) {
        if let Some(thread) = self.folding.take() {
            // It has sent its last.
            drop(thread.join());
        }
        let folded = self.recording().compaction_done(done);
        match folded {
            Ok(_) => {
                self.said.clear();
                (self.on_told)(WriterEvent::Folded(took));
            }
            Err(error) => self.complain(&error),
        }
        self.report_events();
    }

    fn complain(&mut self, error: &StoreError) {
        match error {
            StoreError::Gone { names, .. } => {
                (self.on_told)(WriterEvent::Lost(&error.chain(), (*names).max(1)));
            }
            _ => self.trouble(error.chain()),
        }
    }

    /// Tells of a trouble, once for as long as it lasts.
    fn trouble(&mut self, text: String) {
        if self.said.insert(text.clone()) {
            (self.on_told)(WriterEvent::Trouble(&text));
        }
    }

    fn report_events(&mut self) {
        let notes = self.recording().take_notes();
        for note in notes {
            (self.on_told)(WriterEvent::Note(&note));
        }
    }

    fn close(mut self, tasks: &Receiver<WriterTask>) -> Result<(), String> {
        if let Some(thread) = self.folding.take() {
            // A panic in it has been printed.
            drop(thread.join());
        }
        for task in tasks.try_iter() {
            if let WriterTask::Folded(done, took) = task {
                self.compaction_done(*done, took);
            }
        }
        self.waits.store(true, Ordering::Release);
        let closed = self.recording().close();
        self.report_events();
        match closed {
            Err(error @ StoreError::Gone { .. }) => {
                self.complain(&error);
                Ok(())
            }
            closed => closed.map_err(|error| error.chain()),
        }
    }
}
