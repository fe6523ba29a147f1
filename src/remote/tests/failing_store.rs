//! A store for tests, in memory: it lets others run at each request, fails after some, and counts.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use crate::bucket::RecordingBucket;

/// The objects of a store, each with its age.
#[derive(Debug, Default)]
pub(crate) struct StoreWorld {
    pub(crate) objects: InMemory,
    /// Seconds that have passed.
    clock: AtomicU64,
    /// When each object was written last.
    written: Mutex<HashMap<Path, u64>>,
    /// All that was written.
    pub(crate) history: Mutex<Vec<(Path, Bytes)>>,
}

impl StoreWorld {
    /// Lets all objects grow older.
    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
    }

    fn note(&self, path: &Path, payload: &PutPayload) {
        let now = self.clock.load(Ordering::Relaxed);
        self.written.lock().unwrap().insert(path.clone(), now);
        self.history.lock().unwrap().push((path.clone(), Bytes::from(payload.clone())));
    }

    fn aged(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let written = self.written.lock().unwrap().get(&meta.location).copied();
        let age = self.clock.load(Ordering::Relaxed) - written.unwrap_or_default();
        meta.last_modified -= Duration::from_secs(age);
        meta
    }
}

/// A store that lets others run at each request, and fails after some of them: before a request is
/// carried out, or after that.
#[derive(Debug)]
pub(crate) struct FailingStore {
    world: Arc<StoreWorld>,
    left: AtomicI64,
    seed: AtomicI64,
    pub(crate) puts: AtomicU64,
    pub(crate) gets: AtomicU64,
}

impl FailingStore {
    /// Fails after so many requests. `seed` says whether the last one is carried out.
    pub(crate) fn new(world: &Arc<StoreWorld>, left: i64, seed: i64) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            left: AtomicI64::new(left),
            seed: AtomicI64::new(seed),
            puts: AtomicU64::new(0),
            gets: AtomicU64::new(0),
        })
    }

    fn failure() -> Error {
        Error::Generic { store: "failing", source: "it was killed".into() }
    }

    /// Waits for others, and counts a request. Returns whether its answer is lost.
    async fn turn(&self) -> Result<bool, Error> {
        let seed = self.seed.fetch_add(7, Ordering::Relaxed);
        for _ in 0..seed.rem_euclid(4) {
            tokio::task::yield_now().await;
        }
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            0 if seed % 2 == 0 => Ok(true),
            left if left <= 0 => Err(Self::failure()),
            _ => Ok(false),
        }
    }
}

impl fmt::Display for FailingStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("failing")
    }
}

#[async_trait::async_trait]
impl ObjectStore for FailingStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult, Error> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        let is_lost = self.turn().await?;
        let done = self.world.objects.put_opts(location, payload.clone(), options).await;
        if done.is_ok() {
            self.world.note(location, &payload);
        }
        if is_lost { Err(Self::failure()) } else { done }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>, Error> {
        self.world.objects.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult, Error> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        let is_lost = self.turn().await?;
        let done = self.world.objects.get_opts(location, options).await;
        let done = done.map(|got| GetResult { meta: self.world.aged(got.meta.clone()), ..got });
        if is_lost { Err(Self::failure()) } else { done }
    }

    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>, Error> {
        self.world.objects.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path, Error>>,
    ) -> BoxStream<'static, Result<Path, Error>> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            left if left <= 0 => {
                Box::pin(futures_util::stream::once(async { Err(Self::failure()) }))
            }
            _ => self.world.objects.delete_stream(locations),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta, Error>> {
        let world = Arc::clone(&self.world);
        let listed = self.world.objects.list(prefix);
        listed.map(move |meta| meta.map(|meta| world.aged(meta))).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult, Error> {
        self.world.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<(), Error> {
        self.world.objects.copy_opts(from, to, options).await
    }
}

/// Returns the bucket of a recording in a store that fails after so many requests.
pub(crate) fn bucket(world: &Arc<StoreWorld>, left: i64, seed: i64) -> RecordingBucket {
    RecordingBucket::in_store(FailingStore::new(world, left, seed))
}
