//! The writer: one thread that owns the open recording and appends finished
//! exchanges to it, as many at once as have come in.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use crate::recording::EntryName;
use crate::recording::entry::Entry;
use crate::recording::redact::Secrets;
use crate::store::{self, StoreError};

/// Exchanges written in one go at the most.
const BATCH: usize = 1024;

/// One exchange to be kept, and who waits for the word.
struct Task {
    name: EntryName,
    entry: Entry,
    secrets: Secrets,
    done: oneshot::Sender<Result<(), String>>,
}

/// A handle to the writer's thread.
pub struct Writer {
    tasks: Mutex<Option<mpsc::UnboundedSender<Task>>>,
    thread: Mutex<Option<Thread>>,
}

/// The thread, and its word on the recording when it was closed.
type Thread = JoinHandle<Result<(), String>>;

impl Writer {
    /// Starts the thread. With `replace`, the takes of earlier runs give way,
    /// key by key, to this run's.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(recording: store::Recorder, replace: bool) -> std::io::Result<Self> {
        // Unbounded, because each waiting exchange is already bounded by its client.
        let (sender, receiver) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("loomrec-writer".to_owned())
            .spawn(move || run(recording, replace, receiver))?;
        Ok(Self { tasks: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Returns once the exchange, freed of `secrets`, is on disk, or with the reason why it is not.
    ///
    /// # Errors
    /// The text of the store's error.
    pub async fn keep(
        &self,
        name: EntryName,
        entry: Entry,
        secrets: Secrets,
    ) -> Result<(), String> {
        let (done, word) = oneshot::channel();
        let gone = || "the recording is already closed".to_owned();
        {
            let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            let sender = tasks.as_ref().ok_or_else(gone)?;
            sender.send(Task { name, entry, secrets, done }).map_err(|_| gone())?;
        }
        word.await.map_err(|_| gone())?
    }

    /// Writes what is queued, closes the recording and waits for the thread.
    ///
    /// # Errors
    /// Why the recording does not hold, at its end, what was kept in it.
    pub async fn close(&self) -> Result<(), String> {
        drop(self.take_tasks());
        let Some(thread) = self.take_thread() else { return Ok(()) };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        // A panic in the thread has been printed, and has failed all who waited for it.
        ended.ok().and_then(Result::ok).unwrap_or(Ok(()))
    }

    fn take_tasks(&self) -> Option<mpsc::UnboundedSender<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_thread(&self) -> Option<Thread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A run that never came to its end: the recording's sidecars go with the
        // thread, so it is waited for.
        drop(self.take_tasks());
        if let Some(thread) = self.take_thread() {
            // A panic in it has been printed.
            drop(thread.join());
        }
    }
}

/// The thread: takes all that is there, appends it, tells everyone.
fn run(
    mut recording: store::Recorder,
    replace: bool,
    mut tasks: mpsc::UnboundedReceiver<Task>,
) -> Result<(), String> {
    let mut batch = Vec::new();
    while let Some(first) = tasks.blocking_recv() {
        batch.push(first);
        while batch.len() < BATCH {
            match tasks.try_recv() {
                Ok(task) => batch.push(task),
                Err(_) => break,
            }
        }
        let mut waiting = Vec::with_capacity(batch.len());
        let mut entries = Vec::with_capacity(batch.len());
        for task in batch.drain(..) {
            recording.watch(&task.secrets);
            waiting.push((task.name.to_string(), task.done));
            entries.push((task.name, task.entry));
        }
        let outcome = recording.append(entries, replace);
        for (name, done) in waiting {
            // A receiver that is gone has no client to answer any more.
            drop(done.send(word_for(&name, &outcome)));
        }
    }
    recording.close().map_err(|error| error.chain())
}

/// What became of one entry of a batch: an entry that holds a secret is refused
/// alone, any other failure is everyone's.
fn word_for(name: &str, outcome: &Result<(), StoreError>) -> Result<(), String> {
    match outcome {
        Ok(()) => Ok(()),
        Err(StoreError::Secret { names, .. }) if !names.iter().any(|other| other == name) => Ok(()),
        Err(error) => Err(error.chain()),
    }
}
