//! The writer: appends finished exchanges to the open recording.
//!
//! An append is a copy into the system's memory, quicker than waking a thread. So
//! where nobody is in the way, the task of a call makes it at once, together with
//! those of the calls that end meanwhile: nobody waits for the recording, and
//! several exchanges cost one write. Everything that may take time is a thread's:
//! appends that have to wait for another process or for the storage, as many at
//! once as have come in, and the closing. The store compacts on threads of its own.

mod task;
mod work;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use loomrec_recording::EntryName;
use loomrec_recording::entry::Entry;
use loomrec_recording::redact::CallCredentials;
use loomrec_store::{
    EncodedFrame, FrameEncoder, LogItem, OnAppenderEvent, RecordingAppender, SharedAppender,
};
use task::{KeepResult, WaitingExchange, WriterTask, report_all};
use work::WriterState;

/// How often the task of one call writes what stands in line.
const TURNS: usize = 16;

/// A handle to the writer.
pub struct RecordWriter {
    recording: Arc<SharedAppender>,
    packer: FrameEncoder,
    line: Mutex<Line>,
    /// Whether the thread waits for others or for the storage, and holds the
    /// recording meanwhile: whatever is finished then is the thread's.
    waits: Arc<AtomicBool>,
    tasks: Mutex<Option<Sender<WriterTask>>>,
    thread: Mutex<Option<Thread>>,
}

/// The exchanges that are ready and not written yet.
#[derive(Default)]
struct Line {
    waiting: Vec<WaitingExchange>,
    /// Whether a call's task is writing, and will look here again.
    served: bool,
}

fn gone() -> String {
    "keep it: the recording is already closed, or its writer broke off".to_owned()
}

/// The thread, and its word on the recording when it was closed.
type Thread = JoinHandle<Result<(), String>>;

/// What is kept of the takes of earlier runs, where this run records the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepPolicy {
    /// All of them.
    All,
    /// Those whose calls succeeded, until a call of this run does.
    Successes,
    /// None.
    LastRun,
}

impl RecordWriter {
    /// Starts the thread, which keeps what `keeping` says of earlier runs.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(
        recording: RecordingAppender,
        keeping: KeepPolicy,
        on_event: OnAppenderEvent,
    ) -> std::io::Result<Self> {
        // Unbounded, because each waiting exchange is already bounded by its client.
        let (sender, tasks) = mpsc::channel();
        let packer = recording
            .packer(keeping != KeepPolicy::All)
            .keep_failures(keeping == KeepPolicy::LastRun);
        let recording = Arc::new(SharedAppender::start(recording, on_event)?);
        let waits = Arc::new(AtomicBool::new(false));
        let state = WriterState { recording: Arc::clone(&recording), waits: Arc::clone(&waits) };
        let thread = std::thread::Builder::new()
            .name("loomrec-writer".to_owned())
            .spawn(move || state.run(&tasks))?;
        let (tasks, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        let line = Mutex::default();
        Ok(Self { recording, packer, line, waits, tasks, thread })
    }

    /// Returns once the exchange, freed of `secrets`, is on disk, or with the reason why it is not.
    /// `alone`: no other call is under way.
    ///
    /// # Errors
    /// The text of the store's error.
    pub async fn keep(
        &self,
        name: EntryName,
        entry: Entry,
        secrets: Arc<CallCredentials>,
        alone: bool,
    ) -> KeepResult {
        let item = LogItem { name, entry, secrets };
        let parcel = self.packer.pack(&item).map_err(|error| error.chain())?;
        drop(item);
        let (done, word) = oneshot::channel();
        self.line().waiting.push(WaitingExchange { parcel, done });
        if !alone {
            // Calls that are at their end as well come to stand in line, too.
            tokio::task::yield_now().await;
        }
        if self.claim() {
            self.serve();
        }
        word.await.map_err(|_| gone())?
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the line is the caller's to serve.
    fn claim(&self) -> bool {
        let mut line = self.line();
        let free = !line.waiting.is_empty() && !line.served;
        line.served |= free;
        free
    }

    /// Writes what stands in line until nothing does. Where more and more come, they
    /// are the thread's in the end: the caller has a client of its own.
    fn serve(&self) {
        let mut serving = Serving { writer: self, over: false };
        for turn in 1.. {
            let mut line = self.line();
            if line.waiting.is_empty() {
                line.served = false;
                serving.over = true;
                return;
            }
            let batch = std::mem::take(&mut line.waiting);
            line.served = turn < TURNS;
            serving.over = turn == TURNS;
            drop(line);
            let left = if turn < TURNS { self.keep_now(batch) } else { Err(batch) };
            if let Err(batch) = left {
                // Where the thread is gone, those who wait are told by that.
                let _ = self.send(WriterTask::Keep(batch));
            }
            if turn == TURNS {
                return;
            }
        }
    }

    /// Keeps exchanges here and now, unless that would mean to wait.
    fn keep_now(&self, mut batch: Vec<WaitingExchange>) -> Result<(), Vec<WaitingExchange>> {
        if self.waits.load(Ordering::Acquire) {
            return Err(batch);
        }
        // The thread may hold it, but not for long.
        let Some(outcome) = self.recording.append_now(&mut batch) else { return Err(batch) };
        report_all(batch.into_iter(), &outcome);
        Ok(())
    }

    /// Hands a task to the thread; `None` where it is gone.
    fn send(&self, task: WriterTask) -> Option<()> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.as_ref()?.send(task).ok()
    }

    /// Writes what is queued, compacts it into the recording, closes that and waits
    /// for the thread.
    ///
    /// # Errors
    /// Why the recording does not hold, at its end, what was kept in it.
    pub async fn close(&self) -> Result<(), String> {
        if self.claim() {
            // Of calls whose tasks are gone.
            self.serve();
        }
        self.stop();
        let Some(thread) = self.take_thread() else { return Ok(()) };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        // A panic in the thread has been printed, and has failed all who waited for it.
        ended.ok().and_then(Result::ok).unwrap_or(Ok(()))
    }

    fn stop(&self) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tasks) = tasks {
            // A thread that is gone has nothing to close.
            drop(tasks.send(WriterTask::Close));
        }
    }

    fn take_thread(&self) -> Option<Thread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        // A run that never came to its end: the recording's sidecars go with the
        // thread, so it is waited for.
        self.stop();
        if let Some(thread) = self.take_thread() {
            // A panic in it has been printed.
            drop(thread.join());
        }
    }
}

/// The serving of the line by one call's task.
struct Serving<'a> {
    writer: &'a RecordWriter,
    /// Whether somebody else may serve it already.
    over: bool,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // The task panicked: what stands in line behind it must not wait for ever.
        let mut line = self.writer.line();
        line.served = false;
        let left = std::mem::take(&mut line.waiting);
        drop(line);
        if !left.is_empty() {
            // Where the thread is gone, those who wait are told by that.
            let _ = self.writer.send(WriterTask::Keep(left));
        }
    }
}

impl AsMut<EncodedFrame> for WaitingExchange {
    fn as_mut(&mut self) -> &mut EncodedFrame {
        &mut self.parcel
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
