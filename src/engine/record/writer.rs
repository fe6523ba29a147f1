//! The writer: appends finished exchanges to the open recording.
//!
//! An append is a copy into the system's memory, which is quicker than waking a thread. So the task
//! of a call appends at once if nothing is in the way, together with the exchanges of calls that
//! end meanwhile: no call waits for the recording, and several exchanges cost one write. A thread
//! does everything that may take time: closing, and appends that have to wait for another process
//! or for the storage, which it makes in batches. The store compacts on its own threads.

mod task;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::blocking;
use loomrec_store::{
    EncodedFrame, FrameEncoder, LogItem, OnAppenderEvent, RecordingAppender, SharedAppender,
};
use task::{KeepResult, WaitingExchange, WriterTask, report_all};
use work::WriterState;

/// The most times that the task of one call writes the queue. In the last one it hands the queue to
/// the thread.
const TURNS: usize = 16;

/// A handle to the writer.
pub struct RecordWriter {
    recording: Arc<SharedAppender>,
    encoder: FrameEncoder,
    queue: Mutex<WriteQueue>,
    /// Whether the thread is waiting for another process or for the storage, or is closing. It
    /// holds the recording meanwhile, so exchanges that finish then are handed to it.
    waits: Arc<AtomicBool>,
    tasks: Mutex<Option<Sender<WriterTask>>>,
    thread: Mutex<Option<WriterThread>>,
}

/// The exchanges that are ready and not yet written.
#[derive(Default)]
struct WriteQueue {
    waiting: Vec<WaitingExchange>,
    /// Whether the task of a call is writing, and will look here again.
    is_being_written: bool,
}

fn writer_stopped_error() -> String {
    "store the exchange: the recording is closed, or its writer stopped".to_owned()
}

/// The thread. It returns the result of closing the recording.
type WriterThread = JoinHandle<Result<(), String>>;

/// Which takes of earlier runs are kept if this run records the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepPolicy {
    /// All of them.
    All,
    /// Those whose calls succeeded, until a call of this run succeeds.
    Successes,
    /// None.
    LastRun,
}

impl RecordWriter {
    /// Starts the thread. `keeping` says which takes of earlier runs are kept.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub fn start(
        recording: RecordingAppender,
        keeping: KeepPolicy,
        on_event: OnAppenderEvent,
    ) -> std::io::Result<Self> {
        // Unbounded, because the clients bound the number of waiting exchanges.
        let (sender, tasks) = mpsc::channel();
        let encoder = recording
            .encoder(keeping != KeepPolicy::All)
            .keep_failures(keeping == KeepPolicy::LastRun);
        let recording = Arc::new(SharedAppender::start(recording, on_event)?);
        let waits = Arc::new(AtomicBool::new(false));
        let state = WriterState { recording: Arc::clone(&recording), waits: Arc::clone(&waits) };
        let thread = std::thread::Builder::new()
            .name("loomrec-writer".to_owned())
            .spawn(move || state.run(&tasks))?;
        let (tasks, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        let queue = Mutex::default();
        Ok(Self { recording, encoder, queue, waits, tasks, thread })
    }

    /// Writes the exchange, and returns once it is on disk. None of its credentials is written.
    /// `alone` says that no other call is open.
    ///
    /// # Errors
    /// The text of the store's error.
    pub async fn store_exchange(&self, item: LogItem, alone: bool) -> KeepResult {
        let frame = match blocking::is_large(item.entry.approximate_size()) {
            false => self.encoder.encode(&item),
            true => {
                let encoder = self.encoder.clone();
                blocking::run_blocking(move || encoder.encode(&item)).await
            }
        };
        let frame = frame.map_err(|error| error.error_chain())?;
        let (done, result) = oneshot::channel();
        self.lock_queue().waiting.push(WaitingExchange { frame, done });
        if !alone {
            // Lets other calls that are at their end join the queue.
            tokio::task::yield_now().await;
        }
        if self.claim_queue() {
            self.write_queue();
        }
        result.await.map_err(|_| writer_stopped_error())?
    }

    fn lock_queue(&self) -> MutexGuard<'_, WriteQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the queue. Returns whether the caller has to write it.
    fn claim_queue(&self) -> bool {
        let mut queue = self.lock_queue();
        let free = !queue.waiting.is_empty() && !queue.is_being_written;
        queue.is_being_written |= free;
        free
    }

    /// Writes what is in the queue until it is empty. If more and more arrives, the thread takes
    /// over in the end, because the caller has its own client to answer.
    fn write_queue(&self) {
        let mut claim = QueueClaim { writer: self, over: false };
        for turn in 1.. {
            let mut queue = self.lock_queue();
            if queue.waiting.is_empty() {
                queue.is_being_written = false;
                claim.over = true;
                return;
            }
            let batch = std::mem::take(&mut queue.waiting);
            queue.is_being_written = turn < TURNS;
            claim.over = turn == TURNS;
            drop(queue);
            let left = if turn < TURNS { self.keep_now(batch) } else { Err(batch) };
            if let Err(batch) = left {
                // If the thread is gone, the dropped senders wake those who wait.
                let _ = self.send_task(WriterTask::Keep(batch));
            }
            if turn == TURNS {
                return;
            }
        }
    }

    /// Writes exchanges at once. Returns them as the error if that would mean to wait.
    fn keep_now(&self, mut batch: Vec<WaitingExchange>) -> Result<(), Vec<WaitingExchange>> {
        if self.waits.load(Ordering::Acquire) {
            return Err(batch);
        }
        // The thread may hold the recording, but only briefly.
        let Some(outcome) = self.recording.append_now(&mut batch) else { return Err(batch) };
        report_all(batch.into_iter(), &outcome);
        Ok(())
    }

    /// Hands a task to the thread. Returns `None` if the thread is gone.
    fn send_task(&self, task: WriterTask) -> Option<()> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.as_ref()?.send(task).ok()
    }

    /// Writes what is queued, compacts it into the recording, closes the recording and waits for
    /// the thread.
    ///
    /// # Errors
    /// The reason why the recording does not hold everything that was stored in it.
    pub async fn close(&self) -> Result<(), String> {
        if self.claim_queue() {
            // These exchanges belong to calls whose tasks are gone.
            self.write_queue();
        }
        self.stop();
        let Some(thread) = self.take_thread() else { return Ok(()) };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        // A panic in the thread has been printed, and has failed all exchanges that waited for it.
        ended.ok().and_then(Result::ok).unwrap_or(Ok(()))
    }

    fn stop(&self) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tasks) = tasks {
            // A thread that is gone has nothing to close.
            drop(tasks.send(WriterTask::Close));
        }
    }

    fn take_thread(&self) -> Option<WriterThread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        // The run did not end properly. The thread removes the recording's sidecar files, so wait
        // for it.
        self.stop();
        if let Some(thread) = self.take_thread() {
            // A panic in the thread has been printed.
            drop(thread.join());
        }
    }
}

/// The claim of one call's task to the queue, which it writes.
struct QueueClaim<'a> {
    writer: &'a RecordWriter,
    /// Whether another task may already write the queue.
    over: bool,
}

impl Drop for QueueClaim<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // The task panicked. The exchanges behind it in the queue must not wait for ever.
        let mut queue = self.writer.lock_queue();
        queue.is_being_written = false;
        let left = std::mem::take(&mut queue.waiting);
        drop(queue);
        if !left.is_empty() {
            // If the thread is gone, the dropped senders wake those who wait.
            let _ = self.writer.send_task(WriterTask::Keep(left));
        }
    }
}

impl AsMut<EncodedFrame> for WaitingExchange {
    fn as_mut(&mut self) -> &mut EncodedFrame {
        &mut self.frame
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
