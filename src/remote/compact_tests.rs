//! Compactions in memory, interrupted at any point and at the same time as others.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{RecordingAppender, RecordingLocation, RunChoice, cut_segment};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use proptest::prelude::*;

use super::*;
use crate::listed_segment::ListedSegment;
use crate::recorder_file::RecorderFile;
use crate::state_loader::load_manifest;

/// A store that lets others run at each request, and fails after some of them: before a request is
/// carried out, or after that.
#[derive(Debug)]
struct FailingStore {
    inner: Arc<InMemory>,
    left: AtomicI64,
    seed: AtomicI64,
}

impl FailingStore {
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
        let is_lost = self.turn().await?;
        let done = self.inner.put_opts(location, payload, options).await;
        if is_lost { Err(Self::failure()) } else { done }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>, Error> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult, Error> {
        let is_lost = self.turn().await?;
        let done = self.inner.get_opts(location, options).await;
        if is_lost { Err(Self::failure()) } else { done }
    }

    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>, Error> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path, Error>>,
    ) -> BoxStream<'static, Result<Path, Error>> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            left if left <= 0 => {
                Box::pin(futures_util::stream::once(async { Err(Self::failure()) }))
            }
            _ => self.inner.delete_stream(locations),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta, Error>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult, Error> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<(), Error> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// A segment, made by a recorder: the bytes, and how it is named.
#[derive(Clone)]
struct MadeSegment {
    name: ListedSegment,
    file: RecorderFile,
    bytes: Bytes,
}

/// Makes the segments of three recorders, two of one run and one that began later.
fn make_segments(folder: &std::path::Path, sizes: [[u32; 2]; 3]) -> Vec<MadeSegment> {
    let mut segments = Vec::new();
    for (recorder, sizes) in (0_u32..).zip(sizes) {
        let path = folder.join(recorder.to_string()).join("recording.json");
        let rules = IdentityRules::default();
        let mut appender = RecordingAppender::open(&path, &RunChoice::New, &rules).unwrap();
        appender.leave_log();
        // The second recorder overlaps the first, the third does not.
        let began = [0, 5, 40][recorder as usize];
        let time = |second: u32| format!("2026-01-01T00:00:{second:02}.000000Z");
        let mut second = began;
        for (number, size) in (1_u32..).zip(sizes) {
            for take in 0..size {
                second += 1;
                let entry = Entry {
                    content: Some(format!("{recorder} {number} {take}")),
                    recorded_at: Some(time(second)),
                    ..Entry::default()
                };
                let name = EntryName::step(["a", "b"][(take % 2) as usize]).unwrap();
                appender.append(vec![(name, entry)], true).unwrap();
            }
            let segment = folder.join(format!("{recorder}-{number}"));
            if cut_segment(&RecordingLocation::from(&path), &segment).unwrap().is_some() {
                let name = ListedSegment { recorder: format!("r{recorder}"), number };
                let file = RecorderFile::new(None, time(began));
                let bytes = std::fs::read(&segment).unwrap().into();
                segments.push(MadeSegment { name, file, bytes });
            }
        }
    }
    segments
}

async fn upload(bucket: &RecordingBucket, segment: &MadeSegment) {
    bucket.put_recorder(&segment.name.recorder, &segment.file).await.unwrap();
    bucket.put_segment(&segment.name, segment.bytes.clone()).await.unwrap();
}

fn bucket(inner: &Arc<InMemory>, left: i64, seed: i64) -> RecordingBucket {
    let store = FailingStore {
        inner: Arc::clone(inner),
        left: AtomicI64::new(left),
        seed: AtomicI64::new(seed),
    };
    RecordingBucket::in_store(Arc::new(store))
}

/// Returns the text of the newest state after a last compaction.
async fn final_text(inner: &Arc<InMemory>, cache: &LocalCache) -> Vec<u8> {
    let whole = bucket(inner, i64::MAX, 0);
    let done = compact(&whole, cache, GapChoice::Refuse).await.unwrap();
    assert!(whole.list_segments().await.unwrap().is_empty());
    load_manifest(&whole, cache, &done.manifest.unwrap()).await.unwrap().to_text()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_interleaving_and_any_crash_give_the_same_manifest(
        sizes in proptest::array::uniform3(proptest::array::uniform2(1..4_u32)),
        order in any::<u64>(),
        crashes in proptest::collection::vec(0..40_i64, 1..6),
        seed in 0..1000_i64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let cache = |name: &str| LocalCache::new(folder.path().join(name), None);
        let segments = make_segments(folder.path(), sizes);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (expected, found) = runtime.block_on(async {
            let inner = Arc::new(InMemory::new());
            let whole = bucket(&inner, i64::MAX, 0);
            for segment in &segments {
                upload(&whole, segment).await;
            }
            let expected = final_text(&inner, &cache("one")).await;

            let inner = Arc::new(InMemory::new());
            let whole = bucket(&inner, i64::MAX, 0);
            let mut waiting: Vec<&MadeSegment> = segments.iter().collect();
            let mut order = order;
            for (number, crash) in crashes.iter().enumerate() {
                // Recorders upload in order; which of them is next is left to chance.
                for _ in 0..2 {
                    if waiting.is_empty() {
                        break;
                    }
                    order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let recorder = waiting[(order >> 33) as usize % waiting.len()].name.recorder.clone();
                    let at = waiting.iter().position(|segment| segment.name.recorder == recorder).unwrap();
                    upload(&whole, waiting.remove(at)).await;
                }
                let (one, other) = (bucket(&inner, *crash, seed), bucket(&inner, *crash * 2, seed + 3));
                let (cache_of_one, cache_of_other) = (cache(&format!("a{number}")), cache(&format!("b{number}")));
                // Both may be killed.
                let _ = tokio::join!(compact(&one, &cache_of_one, GapChoice::Refuse), compact(&other, &cache_of_other, GapChoice::Refuse));
                // A segment that was merged and removed is uploaded again by one whose answer was lost.
                if let Some(again) = segments.iter().find(|segment| !waiting.iter().any(|left| left.name == segment.name)) {
                    upload(&whole, again).await;
                }
            }
            for segment in waiting {
                upload(&whole, segment).await;
            }
            (expected, final_text(&inner, &cache("last")).await)
        });
        prop_assert_eq!(String::from_utf8(expected).unwrap(), String::from_utf8(found).unwrap());
    }
}
