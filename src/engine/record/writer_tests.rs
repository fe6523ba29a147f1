use std::fs::File;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::*;
use loomrec_identity::IdentityRules;
use loomrec_store::RunChoice;

struct Scene {
    writer: Arc<RecordWriter>,
    told: Arc<Mutex<Vec<String>>>,
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
        let told = Arc::<Mutex<Vec<String>>>::default();
        let said = Arc::clone(&told);
        let on_told: OnAppenderEvent =
            Arc::new(move |told| said.lock().unwrap().push(format!("{told:?}")));
        let writer =
            Arc::new(RecordWriter::start(recording, KeepPolicy::Successes, on_told).unwrap());
        Self { writer, told, path, _folder: folder }
    }

    /// Stores one exchange, in a task of its own.
    fn keep(&self, name: &str, content: &str) -> tokio::task::JoinHandle<KeepResult> {
        let writer = Arc::clone(&self.writer);
        let name = EntryName::step(name).unwrap();
        let entry = Entry { content: Some(content.to_owned()), ..Entry::default() };
        tokio::spawn(async move { writer.keep(name, entry, Arc::default(), false).await })
    }
}

fn lock_of(path: &Path) -> File {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    File::options().read(true).write(true).open(name).unwrap()
}

fn contents(path: &Path) -> Vec<String> {
    let cassette = loomrec_store::load(path).unwrap();
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
    let packer = scene.writer.packer.clone();
    let entry = Entry { content: Some("left".to_owned()), ..Entry::default() };
    let name = EntryName::step("step").unwrap();
    let parcel = packer.encode(&LogItem { name, entry, secrets: Arc::default() }).unwrap();
    let (done, word) = oneshot::channel();
    scene.writer.line().waiting.push(WaitingExchange { parcel, done });
    scene.writer.close().await.unwrap();
    assert_eq!(word.await.unwrap(), Ok(()));
    assert_eq!(contents(&scene.path), ["left"]);
    assert!(scene.keep("step", "late").await.unwrap().is_err());
    assert_eq!(*scene.told.lock().unwrap(), Vec::<String>::new());
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
        let name = EntryName::step("mine").unwrap();
        let item = LogItem { name, entry, secrets: Arc::default() };
        let parcel = self.writer.packer.encode(&item).unwrap();
        let (done, mut word) = oneshot::channel();
        let waker = Waker::from(Arc::new(Panics));
        assert!(Pin::new(&mut word).poll(&mut Context::from_waker(&waker)).is_pending());
        self.writer.line().waiting.push(WaitingExchange { parcel, done });
        word
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_calls_are_served_when_the_task_that_served_panicked() {
    let scene = Scene::new();
    let word = scene.lay_mine();
    assert!(scene.keep("step", "unlucky").await.unwrap_err().is_panic());
    let patience = Duration::from_secs(20);
    let later = tokio::time::timeout(patience, scene.keep("step", "later")).await;
    assert_eq!(later.expect("it waits for ever").unwrap(), Ok(()));
    drop(word);
    scene.writer.close().await.unwrap();
    assert_eq!(contents(&scene.path), ["later", "mine", "unlucky"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_in_line_behind_a_panic_are_the_threads() {
    let scene = Scene::new();
    scene.writer.line().served = true;
    let behind = scene.keep("step", "behind");
    while scene.writer.line().waiting.is_empty() {
        tokio::task::yield_now().await;
    }
    // The call is in the queue, which another task serves. That task panics now.
    drop(Serving { writer: &scene.writer, over: false });
    let patience = Duration::from_secs(20);
    let word = tokio::time::timeout(patience, behind).await;
    assert_eq!(word.expect("it waits for ever").unwrap(), Ok(()));
    assert_eq!(scene.keep("step", "later").await.unwrap(), Ok(()));
    scene.writer.close().await.unwrap();
    assert_eq!(contents(&scene.path), ["behind", "later"]);
}
