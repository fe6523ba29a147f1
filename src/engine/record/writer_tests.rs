use std::fs::File;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::*;
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::RunChoice;

struct Scene {
    writer: Arc<RecordWriter>,
    events: Arc<Mutex<Vec<String>>>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        let recording = loomrec_store::RecordingAppender::open(
            &path,
            &RunChoice::New,
            &IdentityRules::default(),
        )
        .unwrap();
        let events = Arc::<Mutex<Vec<String>>>::default();
        let sink = Arc::clone(&events);
        let on_event: OnAppenderEvent =
            Arc::new(move |event| sink.lock().unwrap().push(format!("{event:?}")));
        let writer =
            Arc::new(RecordWriter::start(recording, KeepPolicy::Successes, on_event).unwrap());
        Self { writer, events, path, _folder: folder }
    }

    /// Stores one exchange, in a task of its own.
    fn keep(&self, name: &str, content: &str) -> tokio::task::JoinHandle<KeepResult> {
        let writer = Arc::clone(&self.writer);
        let name = EntryName::from_step_id(name).unwrap();
        let entry = Entry { content: Some(content.to_owned()), ..Entry::default() };
        tokio::spawn(async move {
            writer.store_exchange(LogItem::new(name, entry, Arc::default()), false).await
        })
    }
}

fn lock_of(path: &Path) -> File {
    let mut name = path.file_name().unwrap().to_owned();
    name.push(".lock");
    let lock = path.with_file_name(".loomrec").join(name);
    File::options().read(true).write(true).open(lock).unwrap()
}

fn contents(path: &Path) -> Vec<String> {
    let cassette = loomrec_store::load_recording(path).unwrap();
    let mut all: Vec<_> =
        cassette.entries().map(|(_, _, entry)| entry.content.clone().unwrap()).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exchanges_that_end_together_are_each_kept_once() {
    let scene = Scene::new();
    let expected: Vec<_> = (0..500).map(|number| format!("{number:03}")).collect();
    let calls: Vec<_> = expected
        .iter()
        .enumerate()
        .map(|(number, content)| scene.keep(&format!("step {}", number % 7), content))
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(()));
    }
    scene.writer.close().await.unwrap();
    assert_eq!(contents(&scene.path), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_another_holds_the_lock_the_thread_waits_and_the_tasks_go_on() {
    let scene = Scene::new();
    let lock = lock_of(&scene.path);
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    let calls: Vec<_> = (0..8).map(|number| scene.keep("step", &number.to_string())).collect();
    // There are more calls than workers: if a call waited for the lock in its own task, no worker
    // would be left to run this timer.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(calls.iter().all(|call| !call.is_finished()));
    assert!(scene.writer.waits.load(Ordering::Acquire), "it is the thread that waits");
    fs2::FileExt::unlock(&lock).unwrap();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(()));
    }
    assert!(!scene.writer.waits.load(Ordering::Acquire));
    assert_eq!(scene.keep("step", "after").await.unwrap(), Ok(()));
    scene.writer.close().await.unwrap();
    assert_eq!(contents(&scene.path).len(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_whose_tasks_are_gone_are_written_at_the_close() {
    let scene = Scene::new();
    let encoder = scene.writer.encoder.clone();
    let entry = Entry { content: Some("left".to_owned()), ..Entry::default() };
    let name = EntryName::from_step_id("step").unwrap();
    let frame = encoder.encode(&LogItem::new(name, entry, Arc::default())).unwrap();
    let (done, result) = oneshot::channel();
    scene.writer.lock_queue().waiting.push(WaitingExchange { frame, done });
    scene.writer.close().await.unwrap();
    assert_eq!(result.await.unwrap(), Ok(()));
    assert_eq!(contents(&scene.path), ["left"]);
    assert!(scene.keep("step", "late").await.unwrap().is_err());
    assert_eq!(*scene.events.lock().unwrap(), Vec::<String>::new());
}

/// A waker that panics.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("this is the panic that the test is about");
    }
}

impl Scene {
    /// Queues an exchange whose report makes the reporting task panic.
    fn lay_mine(&self) -> oneshot::Receiver<KeepResult> {
        let entry = Entry { content: Some("mine".to_owned()), ..Entry::default() };
        let name = EntryName::from_step_id("mine").unwrap();
        let item = LogItem::new(name, entry, Arc::default());
        let frame = self.writer.encoder.encode(&item).unwrap();
        let (done, mut result) = oneshot::channel();
        let waker = Waker::from(Arc::new(Panics));
        assert!(Pin::new(&mut result).poll(&mut Context::from_waker(&waker)).is_pending());
        self.writer.lock_queue().waiting.push(WaitingExchange { frame, done });
        result
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_calls_are_written_when_the_task_that_wrote_panicked() {
    let scene = Scene::new();
    let result = scene.lay_mine();
    assert!(scene.keep("step", "unlucky").await.unwrap_err().is_panic());
    let patience = Duration::from_secs(20);
    let later = tokio::time::timeout(patience, scene.keep("step", "later")).await;
    assert_eq!(later.expect("it waits for ever").unwrap(), Ok(()));
    drop(result);
    scene.writer.close().await.unwrap();
    assert_eq!(contents(&scene.path), ["later", "mine", "unlucky"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exchanges_queued_behind_a_panic_go_to_the_thread() {
    let scene = Scene::new();
    scene.writer.lock_queue().is_being_written = true;
    let behind = scene.keep("step", "behind");
    while scene.writer.lock_queue().waiting.is_empty() {
        tokio::task::yield_now().await;
    }
    // The call is in the queue, which another task writes. That task panics now.
    drop(QueueClaim { writer: &scene.writer, over: false });
    let patience = Duration::from_secs(20);
    let result = tokio::time::timeout(patience, behind).await;
    assert_eq!(result.expect("it waits for ever").unwrap(), Ok(()));
    assert_eq!(scene.keep("step", "later").await.unwrap(), Ok(()));
    scene.writer.close().await.unwrap();
    assert_eq!(contents(&scene.path), ["behind", "later"]);
}
