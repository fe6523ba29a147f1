//! The thread that schedules the compactions of an open recording.
//!
//! It sleeps until one is due. Another thread with a lower priority does the work. A thread that
//! holds the appender's lock never runs at that priority.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::appender_event::{AppenderEvent, OnAppenderEvent};
use super::compaction_job::CompactionDone;
use super::error::StoreError;
use super::recorder::RecordingAppender;

/// The niceness of a compaction's thread, compared with the traffic.
const NICENESS: i32 = 10;

/// A task for the compactor.
pub(super) enum CompactorTask {
    /// Something was appended: a compaction will be due, or there are events.
    Appended,
    /// A compaction is over, with this outcome, after this time.
    Done(Box<CompactionDone>, Duration),
    /// The recording is being closed.
    Stop,
}

/// The state of the thread.
pub(super) struct BackgroundCompactor {
    appender: Arc<Mutex<RecordingAppender>>,
    on_event: OnAppenderEvent,
    /// The sender on which a compaction's thread reports that it is over.
    tasks: Sender<CompactorTask>,
    /// The compaction that is running.
    running: Option<JoinHandle<()>>,
    /// The failures that were reported.
    reported: HashSet<String>,
}

impl BackgroundCompactor {
    pub(super) fn new(
        appender: Arc<Mutex<RecordingAppender>>,
        on_event: OnAppenderEvent,
        tasks: Sender<CompactorTask>,
    ) -> Self {
        Self { appender, on_event, tasks, running: None, reported: HashSet::new() }
    }

    /// Compacts when it is due and reports events, until it is stopped. Waits then for a compaction
    /// that is still running.
    pub(super) fn run(mut self, tasks: &Receiver<CompactorTask>) -> Self {
        self.report_notes();
        loop {
            match self.next_task(tasks) {
                Some(CompactorTask::Appended) => self.report_notes(),
                Some(CompactorTask::Done(done, took)) => self.finish_compaction(*done, took),
                Some(CompactorTask::Stop) => break,
                None => self.start_compaction(),
            }
        }
        self.join_running();
        for task in tasks.try_iter() {
            if let CompactorTask::Done(done, took) = task {
                self.finish_compaction(*done, took);
            }
        }
        self
    }

    fn lock_appender(&self) -> MutexGuard<'_, RecordingAppender> {
        self.appender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next task; `None` if a compaction is due.
    fn next_task(&self, tasks: &Receiver<CompactorTask>) -> Option<CompactorTask> {
        loop {
            let due =
                if self.running.is_none() { self.lock_appender().compaction_due() } else { None };
            let Some(due) = due else {
                // The compactor holds a sender itself, so this ends only with a task.
                return Some(tasks.recv().unwrap_or(CompactorTask::Stop));
            };
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // A steady flow of tasks must not put the compaction off.
                return None;
            }
            match tasks.recv_timeout(left) {
                Ok(task) => return Some(task),
                // Further appends may have put it off.
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Some(CompactorTask::Stop),
            }
        }
    }

    /// Starts a compaction on a separate thread.
    fn start_compaction(&mut self) {
        let job = self.lock_appender().start_compaction();
        let tasks = self.tasks.clone();
        let thread = std::thread::Builder::new().name("loomrec-fold".to_owned()).spawn(move || {
            // The traffic comes first.
            loomrec_os::lower_thread_priority(NICENESS);
            let began = Instant::now();
            let done = Box::new(job.run());
            // The compactor waits for this thread, so the receiver exists.
            let _ = tasks.send(CompactorTask::Done(done, began.elapsed()));
        });
        match thread {
            Ok(thread) => self.running = Some(thread),
            Err(error) => {
                self.lock_appender().compaction_refused();
                self.report_failure(format!(
                    "failed to start a thread to compact the log: {error}"
                ));
            }
        }
    }

    fn finish_compaction(&mut self, done: CompactionDone, took: Duration) {
        self.join_running();
        let done = self.lock_appender().compaction_done(done);
        match done {
            Ok(_) => {
                self.reported.clear();
                (self.on_event)(AppenderEvent::Compacted(took));
            }
            Err(error @ StoreError::Gone { .. }) => self.report_loss(&error),
            Err(error) => self.report_failure(error.error_chain()),
        }
        self.report_notes();
    }

    fn join_running(&mut self) {
        if let Some(thread) = self.running.take() {
            // A panic in the thread has been printed.
            drop(thread.join());
        }
    }

    /// Compacts what is left in the log, and closes the recording.
    ///
    /// # Errors
    /// As for [`RecordingAppender::close`]. [`StoreError::Gone`] is reported as an event instead.
    pub(super) fn close_recording(&mut self) -> Result<(), StoreError> {
        let closed = self.lock_appender().close();
        self.report_notes();
        match closed {
            Err(error @ StoreError::Gone { .. }) => {
                self.report_loss(&error);
                Ok(())
            }
            closed => closed,
        }
    }

    fn report_loss(&self, error: &StoreError) {
        let names = match error {
            StoreError::Gone { names, .. } => (*names).max(1),
            _ => 1,
        };
        (self.on_event)(AppenderEvent::Lost(&error.error_chain(), names));
    }

    /// Reports a failure, once as long as it lasts.
    fn report_failure(&mut self, text: String) {
        if self.reported.insert(text.clone()) {
            (self.on_event)(AppenderEvent::CompactionFailed(&text));
        }
    }

    fn report_notes(&self) {
        let replacements = self.lock_appender().take_replacements();
        for replacement in &replacements {
            (self.on_event)(AppenderEvent::Replaced(replacement));
        }
        let notes = self.lock_appender().take_notes();
        for note in notes {
            (self.on_event)(AppenderEvent::Note(&note));
        }
    }
}
