//! The upload of segments: in the background while a recorder runs, and what ended ones left.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use loomrec_store::StoreEvent;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::listed_segment::ListedSegment;
use super::remote_error::RemoteError;
use super::upload_spool::{CUT_SIZE, UploadSpool};

/// How often the log is looked at.
const TICK: Duration = Duration::from_millis(250);

/// A log is cut when its oldest call is about this old.
const CUT_AGE: Duration = Duration::from_secs(2);

/// How often a recorder shows that it is alive. A collection of garbage waits seven times as long.
const RENEWAL: Duration = Duration::from_secs(24 * 3600);

/// The speed of a link at which the end of a recorder still waits for its segments, in bytes a second.
const SLOW_LINK: u64 = 16 << 10;

/// The first and the longest pause after an upload that failed.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// An event of an upload, for people.
#[derive(Debug)]
pub enum UploadEvent {
    /// The store cannot be used for now: calls are kept on this machine. Reported once, until an
    /// upload succeeds again.
    Interrupted(String),
    /// An upload failed, and is tried again.
    Failed,
    /// An attempt to upload has ended.
    Progress {
        /// How many segments it has sent.
        sent: u64,
        /// How many are on this machine only.
        left: u64,
    },
    /// An upload succeeded again.
    Resumed,
    /// The recorder has ended and waits for the store, for up to this time.
    Waiting(Duration),
    /// An event of the log.
    Log(StoreEvent),
}

/// The callback for events.
pub type OnUploadEvent = Arc<dyn Fn(UploadEvent) + Send + Sync>;

/// What was uploaded in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadResult {
    /// How many segments were uploaded.
    pub uploaded: u64,
    /// How many are on this machine only.
    pub left: u64,
    /// Why; `None` if nothing is left.
    pub problem: Option<String>,
}

/// The uploads of a recorder that is running.
#[derive(Debug)]
pub struct SegmentUploader {
    stop: watch::Sender<bool>,
    task: JoinHandle<UploadSpool>,
    bucket: RecordingBucket,
    recorder: String,
    uploaded: Arc<AtomicU64>,
}

impl SegmentUploader {
    /// Starts the uploads, on the runtime of the caller.
    pub fn start(bucket: RecordingBucket, spool: UploadSpool, on_event: OnUploadEvent) -> Self {
        let (stop, stopped) = watch::channel(false);
        let uploaded = Arc::new(AtomicU64::new(0));
        let running = RunningUploads {
            bucket: bucket.clone(),
            on_event,
            uploaded: Arc::clone(&uploaded),
            is_interrupted: false,
            began: None,
            renewed: tokio::time::Instant::now(),
        };
        let recorder = spool.recorder.clone();
        let task = tokio::spawn(running.run(spool, stopped));
        Self { stop, task, bucket, recorder, uploaded }
    }

    /// Returns the id of the recorder.
    pub fn recorder_id(&self) -> &str {
        &self.recorder
    }

    /// Uploads the rest, once the recorder has closed its log. If the store cannot be used, reports
    /// that and tries again, for up to `patience` or until `interrupted` returns.
    pub async fn finish(
        self,
        patience: Duration,
        on_event: &OnUploadEvent,
        interrupted: impl Future<Output = ()>,
    ) -> UploadResult {
        // The task is gone only if it panicked, which it has printed.
        let _ = self.stop.send(true);
        let before = self.uploaded;
        let mut result = UploadResult::default();
        let spool = match self.task.await {
            Ok(spool) => spool,
            Err(error) => {
                let problem = Some(format!("go on with the upload: {error}"));
                return UploadResult { left: 1, problem, ..result };
            }
        };
        let done = tokio::select! {
            done = upload_patiently(&self.bucket, &spool, patience, on_event, &mut result) => done,
            () = interrupted => false,
        };
        result.uploaded += before.load(Ordering::Relaxed);
        if done {
            // What is left of it is removed by the next recorder, which finds nothing to upload.
            let _ = spool.remove_folder();
            return UploadResult { left: 0, problem: None, ..result };
        }
        result.left = spool.waiting_count().max(1);
        result
    }
}

/// Uploads what a recorder has left. Returns whether all of it is in the store.
async fn upload_patiently(
    bucket: &RecordingBucket,
    spool: &UploadSpool,
    patience: Duration,
    on_event: &OnUploadEvent,
    result: &mut UploadResult,
) -> bool {
    let mut deadline = Instant::now() + patience;
    let mut pause = PAUSES[0];
    loop {
        let before = result.uploaded;
        let limit = deadline.saturating_duration_since(Instant::now()) + PAUSES[0];
        let attempt = upload_all(bucket, spool, &mut result.uploaded, limit).await;
        if result.uploaded > before || attempt.is_err() {
            let sent = result.uploaded - before;
            on_event(UploadEvent::Progress { sent, left: spool.waiting_count() });
        }
        let Err(error) = attempt else { return true };
        on_event(UploadEvent::Failed);
        if result.problem.replace(error.chain()).is_none() {
            on_event(UploadEvent::Waiting(patience));
        }
        if result.uploaded > before {
            // Over a slow link, segments arrive one after the other.
            deadline = Instant::now() + patience;
            pause = PAUSES[0];
        }
        if Instant::now() + pause > deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES[1]);
    }
}

/// The state of the background task.
struct RunningUploads {
    bucket: RecordingBucket,
    on_event: OnUploadEvent,
    uploaded: Arc<AtomicU64>,
    is_interrupted: bool,
    /// When there was first something in the log.
    began: Option<Instant>,
    /// When the file of the recorder was last written.
    renewed: tokio::time::Instant,
}

impl RunningUploads {
    async fn run(mut self, mut spool: UploadSpool, mut stop: watch::Receiver<bool>) -> UploadSpool {
        let mut pause = TICK;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.changed() => return spool,
            }
            spool = self.cut_if_due(spool).await;
            let mut sent = 0;
            // Stopping does not wait for a request: it is sent again, which does no harm.
            let done = tokio::select! {
                done = self.upload_segments(&spool, &mut sent) => done,
                _ = stop.changed() => Ok(()),
            };
            self.uploaded.fetch_add(sent, Ordering::Relaxed);
            if sent > 0 || done.is_err() {
                (self.on_event)(UploadEvent::Progress { sent, left: spool.waiting_count() });
            }
            if *stop.borrow() {
                return spool;
            }
            pause = self.note_outcome(done, sent, pause);
        }
    }

    /// Uploads the segments that wait, and shows that the recorder is alive.
    async fn upload_segments(
        &mut self,
        spool: &UploadSpool,
        sent: &mut u64,
    ) -> Result<(), RemoteError> {
        if self.renewed.elapsed() >= RENEWAL {
            self.bucket.renew_recorder(&spool.recorder, &spool.file).await?;
            self.renewed = tokio::time::Instant::now();
        }
        upload_waiting(&self.bucket, spool, sent, Duration::MAX).await
    }

    /// Cuts the log on a thread that may block.
    async fn cut_if_due(&mut self, spool: UploadSpool) -> UploadSpool {
        let length = spool.log_length();
        if length == 0 {
            self.began = None;
            return spool;
        }
        let began = *self.began.get_or_insert_with(Instant::now);
        if length < CUT_SIZE && began.elapsed() < CUT_AGE {
            return spool;
        }
        self.began = None;
        let spool = Arc::new(spool);
        let held = Arc::clone(&spool);
        let cut = tokio::task::spawn_blocking(move || held.cut_next_segment()).await;
        match cut {
            Ok(Ok(events)) => events.into_iter().for_each(|event| {
                (self.on_event)(UploadEvent::Log(event));
            }),
            Ok(Err(error)) => self.report_interruption(error.chain()),
            Err(error) => self.report_interruption(error.to_string()),
        }
        // The thread has ended, so this is the only handle.
        match Arc::try_unwrap(spool) {
            Ok(spool) => spool,
            Err(shared) => wait_for(shared).await,
        }
    }

    fn report_interruption(&mut self, problem: String) {
        if !std::mem::replace(&mut self.is_interrupted, true) {
            (self.on_event)(UploadEvent::Interrupted(problem));
        }
    }

    /// Notes the outcome of an upload. Returns the pause before the next.
    fn note_outcome(
        &mut self,
        done: Result<(), RemoteError>,
        sent: u64,
        pause: Duration,
    ) -> Duration {
        match done {
            Ok(()) => {
                if sent > 0 && std::mem::take(&mut self.is_interrupted) {
                    (self.on_event)(UploadEvent::Resumed);
                }
                TICK
            }
            Err(error) => {
                (self.on_event)(UploadEvent::Failed);
                self.report_interruption(error.chain());
                (pause * 2).clamp(PAUSES[0], PAUSES[1])
            }
        }
    }
}

/// Waits until the other handle of a spool is dropped.
async fn wait_for(mut shared: Arc<UploadSpool>) -> UploadSpool {
    loop {
        match Arc::try_unwrap(shared) {
            Ok(spool) => return spool,
            Err(again) => shared = again,
        }
        tokio::task::yield_now().await;
    }
}

/// Uploads the segments that wait, in order. `sent` counts them, also if one fails. Each may take
/// `limit`, and as long as a slow link needs.
async fn upload_waiting(
    bucket: &RecordingBucket,
    spool: &UploadSpool,
    sent: &mut u64,
    limit: Duration,
) -> Result<(), RemoteError> {
    let waiting = spool.waiting_segments()?;
    if !waiting.is_empty() {
        // Without it nobody can merge the segments, and it may have been removed.
        upload_within(limit, bucket, bucket.put_recorder(&spool.recorder, &spool.file)).await?;
    }
    for segment in waiting {
        let bytes = std::fs::read(&segment.path).map_err(RemoteError::at_path(&segment.path))?;
        let hash = Some(ContentHash::from_bytes(&bytes));
        let name = ListedSegment { recorder: spool.recorder.clone(), number: segment.number, hash };
        let limit = limit.saturating_add(Duration::from_secs(bytes.len() as u64 / SLOW_LINK));
        upload_within(limit, bucket, bucket.put_segment(&name, bytes.into())).await?;
        spool.mark_sent(&segment)?;
        *sent += 1;
    }
    Ok(())
}

/// Waits for an upload, up to a limit.
async fn upload_within(
    limit: Duration,
    bucket: &RecordingBucket,
    upload: impl Future<Output = Result<(), RemoteError>>,
) -> Result<(), RemoteError> {
    let silent = |_| RemoteError::Silent { url: bucket.url().to_owned() };
    tokio::time::timeout(limit, upload).await.map_err(silent)?
}

/// Cuts the log of a recorder that has ended, and uploads everything.
async fn upload_all(
    bucket: &RecordingBucket,
    spool: &UploadSpool,
    sent: &mut u64,
    limit: Duration,
) -> Result<(), RemoteError> {
    spool.cut_next_segment()?;
    upload_waiting(bucket, spool, sent, limit).await
}

/// Uploads what ended recorders of a recording have left on this machine. Returns how many segments
/// that were.
///
/// # Errors
/// A log cannot be read, or the store fails. What was not uploaded stays.
pub async fn upload_leftovers(bucket: &RecordingBucket, state: &Path) -> Result<u64, RemoteError> {
    let mut sent = 0;
    for spool in UploadSpool::find_leftovers(state, bucket.url())? {
        upload_all(bucket, &spool, &mut sent, Duration::MAX).await?;
        spool.remove_folder()?;
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder_file::RecorderFile;
    use object_store::ObjectStoreExt as _;
    use object_store::memory::InMemory;
    use object_store::path::Path;

    #[tokio::test(start_paused = true)]
    async fn idle_recorder_renews_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(InMemory::new());
        let bucket = RecordingBucket::in_store(Arc::clone(&store) as _);
        let file = RecorderFile::new(None, "2026-01-01T00:00:00.000000Z".to_owned());
        let spool = UploadSpool::create(folder.path(), bucket.url(), file).unwrap();
        let path = Path::from(format!("agent/runs/{}/recorder.json", spool.recorder));
        let uploader = SegmentUploader::start(bucket, spool, Arc::new(|_| {}));
        tokio::time::sleep(RENEWAL / 2).await;
        assert!(store.head(&path).await.is_err());
        tokio::time::sleep(RENEWAL).await;
        assert!(store.head(&path).await.is_ok());
        uploader.finish(Duration::ZERO, &(Arc::new(|_| {}) as _), std::future::pending()).await;
    }
}
