//! The writer's thread: appends that may take time, and the closing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::task::{WaitingExchange, WriterTask, report_all};
use loomrec_store::{SharedAppender, StoreError};

/// The most exchanges in one write, unless one task brings more.
const BATCH: usize = 1024;

/// The state of the thread.
pub(super) struct WriterState {
    pub(super) recording: Arc<SharedAppender>,
    pub(super) waits: Arc<AtomicBool>,
}

impl WriterState {
    /// Appends the exchanges of all tasks and reports the outcome to each call, until the last
    /// task.
    pub(super) fn run(self, tasks: &Receiver<WriterTask>) -> Result<(), String> {
        let mut batch = Vec::new();
        let mut open = true;
        while open {
            open = accept_task(tasks.recv().unwrap_or(WriterTask::Close), &mut batch);
            while open && batch.len() < BATCH {
                match tasks.try_recv() {
                    Ok(task) => open = accept_task(task, &mut batch),
                    Err(_) => break,
                }
            }
            if !batch.is_empty() {
                let outcome = self.append_batch(&mut batch);
                report_all(batch.drain(..), &outcome);
            }
        }
        self.waits.store(true, Ordering::Release);
        self.recording.close().map_err(|error| error.error_chain())
    }

    /// Appends a batch. While that has to wait, further exchanges are queued.
    fn append_batch(&self, batch: &mut [WaitingExchange]) -> Result<(), StoreError> {
        let appended = self.recording.append_now(batch);
        appended.unwrap_or_else(|| {
            self.waits.store(true, Ordering::Release);
            let appended = self.recording.append_frames(batch);
            self.waits.store(false, Ordering::Release);
            appended
        })
    }
}

/// Takes a task. Returns `false` if it was the last.
fn accept_task(task: WriterTask, batch: &mut Vec<WaitingExchange>) -> bool {
    match task {
        WriterTask::Keep(more) => batch.extend(more),
        WriterTask::Close => return false,
    }
    true
}
