//! The writer: appends finished exchanges to the open recording.
//!
//! An append is a copy into the system's memory, quicker than waking a thread. So
//! where nobody is in the way, the task of the call makes it at once. Everything
//! that may take time is a thread's: appends that have to wait for another process
//! or for the storage, as many at once as have come in, and the closing. Folds have
//! a thread of their own each, so that no exchange waits for one.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::recording::EntryName;
use crate::recording::entry::Entry;
use crate::recording::redact::Secrets;
use crate::store::{self, FoldDone, Item, Note, Outcome, StoreError};

/// Exchanges written in one go at the most.
const BATCH: usize = 1024;

/// How much less of the processor a fold asks for than the traffic does.
const FOLD_NICENESS: i32 = 10;

/// What the writer has to tell beside the word on each exchange.
#[derive(Debug)]
pub enum Told<'a> {
    /// Something that is well, and worth knowing.
    Note(&'a Note),
    /// What could not be done, and is tried again. Nothing is lost by it.
    Trouble(&'a str),
    /// What had been kept and is kept no more: the reason, and how many names.
    Lost(&'a str, usize),
}

/// Called by the writer's thread with what it has to tell, once each.
pub type OnTold = Arc<dyn Fn(Told<'_>) + Send + Sync>;

/// What the thread waits for.
enum Task {
    /// One exchange to be kept, and who waits for the word.
    Keep(Box<Item>, oneshot::Sender<Word>),
    /// An exchange was kept without the thread: a fold may be due some time, and
    /// there may be something to tell.
    Kept,
    /// A fold is over.
    Folded(FoldDone),
    /// Nothing more will come.
    Close,
}

/// A handle to the writer.
pub struct Writer {
    recording: Arc<Mutex<store::Recorder>>,
    replace: bool,
    /// Whether the thread waits for others or for the storage, and holds the
    /// recording meanwhile: whatever is finished then is the thread's.
    waits: Arc<AtomicBool>,
    tasks: Mutex<Option<Sender<Task>>>,
    thread: Mutex<Option<Thread>>,
}

/// What became of one exchange: kept, or the text of the store's error.
type Word = Result<(), String>;

fn gone() -> String {
    "keep it: the recording is already closed".to_owned()
}

/// The thread, and its word on the recording when it was closed.
type Thread = JoinHandle<Result<(), String>>;

impl Writer {
    /// Starts the thread. With `replace`, the takes of earlier runs give way,
    /// key by key, to this run's.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(
        recording: store::Recorder,
        replace: bool,
        on_told: OnTold,
    ) -> std::io::Result<Self> {
        // Unbounded, because each waiting exchange is already bounded by its client.
        let (sender, tasks) = mpsc::channel();
        let recording = Arc::new(Mutex::new(recording));
        let waits = Arc::new(AtomicBool::new(false));
        let (shared, waiting) = (Arc::clone(&recording), Arc::clone(&waits));
        let folds = sender.clone();
        let thread =
            std::thread::Builder::new().name("loomrec-writer".to_owned()).spawn(move || {
                let work = Work {
                    recording: shared,
                    replace,
                    waits: waiting,
                    on_told,
                    folds,
                    folding: None,
                    said: HashSet::new(),
                };
                work.run(&tasks)
            })?;
        let (tasks, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        Ok(Self { recording, replace, waits, tasks, thread })
    }

    /// Returns once the exchange, freed of `secrets`, is on disk, or with the reason why it is not.
    ///
    /// # Errors
    /// The text of the store's error.
    pub async fn keep(&self, name: EntryName, entry: Entry, secrets: Arc<Secrets>) -> Word {
        let item = match self.keep_now(Item { name, entry, secrets }) {
            Ok(word) => return word,
            Err(item) => item,
        };
        let (done, word) = oneshot::channel();
        self.send(Task::Keep(item, done)).ok_or_else(gone)?;
        word.await.map_err(|_| gone())?
    }

    /// Keeps an exchange here and now, unless that would mean to wait.
    fn keep_now(&self, item: Item) -> Result<Word, Box<Item>> {
        if self.waits.load(Ordering::Acquire) {
            return Err(Box::new(item));
        }
        // Whoever holds it now is about to be done: an append is a few microseconds.
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let first = recording.fold_due().is_none();
        let outcome = match recording.keep_now(vec![item], self.replace) {
            Ok(outcome) => outcome,
            Err(mut batch) => {
                return batch.pop().map_or_else(|| Ok(Err(gone())), |item| Err(Box::new(item)));
            }
        };
        let tell = first || recording.has_notes();
        drop(recording);
        if tell {
            // A thread that is gone has been told to close.
            let _ = self.send(Task::Kept);
        }
        Ok(match outcome.map(|mut refused| refused.pop()) {
            Ok(None) => Ok(()),
            Ok(Some((_, error))) | Err(error) => Err(error.chain()),
        })
    }

    /// Hands a task to the thread; `None` where it is gone.
    fn send(&self, task: Task) -> Option<()> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.as_ref()?.send(task).ok()
    }

    /// Writes what is queued, folds it into the recording, closes that and waits
    /// for the thread.
    ///
    /// # Errors
    /// Why the recording does not hold, at its end, what was kept in it.
    pub async fn close(&self) -> Result<(), String> {
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
            drop(tasks.send(Task::Close));
        }
    }

    fn take_thread(&self) -> Option<Thread> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Writer {
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

/// What the thread holds.
struct Work {
    recording: Arc<Mutex<store::Recorder>>,
    replace: bool,
    waits: Arc<AtomicBool>,
    on_told: OnTold,
    /// How a fold's thread says that it is over.
    folds: Sender<Task>,
    /// The fold that is going on.
    folding: Option<JoinHandle<()>>,
    /// The troubles that have been told.
    said: HashSet<String>,
}

impl Work {
    /// Takes all that is there, appends it, tells everyone; folds now and then.
    fn run(mut self, tasks: &Receiver<Task>) -> Result<(), String> {
        let mut batch = Vec::new();
        let mut open = true;
        self.tell_notes();
        while open {
            match self.next(tasks) {
                Some(task) => open = self.take(task, &mut batch),
                None => self.fold(),
            }
            while open && batch.len() < BATCH {
                match tasks.try_recv() {
                    Ok(task) => open = self.take(task, &mut batch),
                    Err(_) => break,
                }
            }
            self.append(&mut batch);
        }
        self.close()
    }

    fn recording(&self) -> MutexGuard<'_, store::Recorder> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; `None` when it is time for a fold.
    fn next(&self, tasks: &Receiver<Task>) -> Option<Task> {
        let due = if self.folding.is_none() { self.recording().fold_due() } else { None };
        let Some(due) = due else {
            // We hold a sender ourselves, so this ends with a task only.
            return Some(tasks.recv().unwrap_or(Task::Close));
        };
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // Tasks that never cease must not put it off.
            return None;
        }
        match tasks.recv_timeout(left) {
            Ok(task) => Some(task),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Task::Close),
        }
    }

    /// Takes a task; `false` when it was the last.
    fn take(&mut self, task: Task, batch: &mut Vec<Waiting>) -> bool {
        match task {
            Task::Keep(item, done) => batch.push((*item, done)),
            Task::Kept => self.tell_notes(),
            Task::Folded(done) => self.folded(done),
            Task::Close => return false,
        }
        true
    }

    fn append(&mut self, batch: &mut Vec<Waiting>) {
        if batch.is_empty() {
            return;
        }
        let (items, waiting): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
        match self.keep(items) {
            Ok(refused) => {
                let mut words: Vec<_> = waiting.iter().map(|_| Ok(())).collect();
                for (index, error) in refused {
                    words[index] = Err(error.chain());
                }
                for (done, word) in waiting.into_iter().zip(words) {
                    // A receiver that is gone has no client to answer any more.
                    drop(done.send(word));
                }
            }
            Err(error) => {
                let reason = error.chain();
                for done in waiting {
                    drop(done.send(Err(reason.clone())));
                }
            }
        }
        self.tell_notes();
    }

    /// Keeps a batch; while that means to wait, exchanges are queued.
    fn keep(&self, batch: Vec<Item>) -> Outcome {
        let kept = self.recording().keep_now(batch, self.replace);
        kept.unwrap_or_else(|batch| {
            self.waits.store(true, Ordering::Release);
            let kept = self.recording().keep(batch, self.replace);
            self.waits.store(false, Ordering::Release);
            kept
        })
    }

    /// Has a fold done on a thread of its own.
    fn fold(&mut self) {
        let job = self.recording().fold();
        let folds = self.folds.clone();
        let thread = std::thread::Builder::new().name("loomrec-fold".to_owned()).spawn(move || {
            // A writer that is gone has closed the recording itself.
            // Traffic has the processor first; a system that refuses is as well.
            let _ = rustix::process::nice(FOLD_NICENESS);
            drop(folds.send(Task::Folded(job.run())));
        });
        match thread {
            Ok(thread) => self.folding = Some(thread),
            Err(error) => {
                self.recording().fold_refused();
                self.trouble(format!("failed to start a thread to fold the log: {error}"));
            }
        }
    }

    fn folded(&mut self, done: FoldDone) {
        if let Some(thread) = self.folding.take() {
            // It has sent its last.
            drop(thread.join());
        }
        let folded = self.recording().folded(done);
        match folded {
            Ok(_) => self.said.clear(),
            Err(error) => self.complain(&error),
        }
        self.tell_notes();
    }

    fn complain(&mut self, error: &StoreError) {
        match error {
            StoreError::Gone { names, .. } => (self.on_told)(Told::Lost(&error.chain(), *names)),
            _ => self.trouble(error.chain()),
        }
    }

    /// Tells of a trouble, once for as long as it lasts.
    fn trouble(&mut self, text: String) {
        if self.said.insert(text.clone()) {
            (self.on_told)(Told::Trouble(&text));
        }
    }

    fn tell_notes(&mut self) {
        let notes = self.recording().take_notes();
        for note in notes {
            (self.on_told)(Told::Note(&note));
        }
    }

    fn close(mut self) -> Result<(), String> {
        if let Some(thread) = self.folding.take() {
            // What it did is found out by the recording itself.
            drop(thread.join());
        }
        self.waits.store(true, Ordering::Release);
        let closed = self.recording().close();
        self.tell_notes();
        match closed {
            Err(error @ StoreError::Gone { .. }) => {
                self.complain(&error);
                Ok(())
            }
            closed => closed.map_err(|error| error.chain()),
        }
    }
}

/// An exchange and who waits for the word.
type Waiting = (Item, oneshot::Sender<Word>);
