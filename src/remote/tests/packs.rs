//! Packs in a store in memory: how many requests a merge, a pull and a purge take, and what is left.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::TryStreamExt as _;
use loomrec_identity::IdentityRules;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, EntryName, RecordingMeta};
use loomrec_store::{Recording, StoreError};
use object_store::{ObjectStore as _, ObjectStoreExt as _};

use super::failing_store::{FailingStore, StoreWorld, bucket};
use super::made_segment::{make_segment, unique_entry, upload};
use crate::bucket::RecordingBucket;
use crate::bucket_check::check_bucket;
use crate::bucket_repair::repair_bucket;
use crate::compact::compact;
use crate::content_hash::ContentHash;
use crate::download_progress::OnFetchProgress;
use crate::entry_check::CheckDepth;
use crate::fetch::StateFetcher;
use crate::local_cache::LocalCache;
use crate::purge::find_purgeable;
use crate::push::{PushBase, PushedState, push};
use crate::remote_error::RemoteError;
use crate::secret_free::SecretFree;
use crate::segment::describe_take;
use crate::segment_plan::GapChoice;

pub(super) type NamedEntry = (EntryName, Entry);

pub(super) fn no_progress() -> OnFetchProgress {
    Arc::new(|_, _| {})
}

/// Pushes a recording of these entries, whatever is there.
pub(super) async fn push_entries(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    folder: &Path,
    entries: Vec<NamedEntry>,
) -> Result<PushedState, RemoteError> {
    let recording = make_recording(folder, entries);
    let secrets = CallCredentials::default();
    let recording = SecretFree { recording: &recording, secrets: &secrets };
    push(bucket, cache, &recording, &PushBase::Any, None, &no_progress()).await
}

/// Writes a recording of these entries to a file.
pub(super) fn make_recording(folder: &Path, entries: Vec<NamedEntry>) -> Recording {
    let file = tempfile::Builder::new().suffix(".json").tempfile_in(folder).unwrap();
    let path = file.path().to_owned();
    file.close().unwrap();
    let meta = RecordingMeta::new(&IdentityRules::default());
    loomrec_store::create_recording(
        &path,
        &meta,
        entries.into_iter().map(Ok::<_, StoreError>),
        true,
    )
    .unwrap();
    Recording::open(&path).unwrap()
}

/// Returns the hashes of the entries of the newest state, as a fetch gives them.
pub(super) async fn fetch_hashes(
    bucket: &RecordingBucket,
    cache: &LocalCache,
) -> Result<BTreeSet<ContentHash>, RemoteError> {
    let cache = cache.clone();
    let fetcher = StateFetcher { cache, is_stale_ok: false, on_progress: no_progress() };
    let fetched = fetcher.fetch_newest(bucket).await?;
    let recording = Recording::open(&fetched.recording)?;
    let mut found = BTreeSet::new();
    for stored in recording.entries() {
        let stored = stored?;
        found.insert(describe_take(&stored.name, &stored.entry).0.object);
    }
    Ok(found)
}

pub(super) fn hash_of((name, entry): &NamedEntry) -> ContentHash {
    describe_take(name, entry).0.object
}

fn unique_entries(numbers: std::ops::Range<u32>) -> Vec<NamedEntry> {
    numbers.map(|number| unique_entry(number, 300)).collect()
}

fn hashes(entries: &[NamedEntry]) -> BTreeSet<ContentHash> {
    entries.iter().map(hash_of).collect()
}

struct TestBed {
    folder: tempfile::TempDir,
    world: Arc<StoreWorld>,
}

impl TestBed {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), world: Arc::new(StoreWorld::default()) }
    }

    fn cache(&self, name: &str) -> LocalCache {
        LocalCache::new(self.folder.path().join(name), None)
    }

    fn bucket(&self) -> RecordingBucket {
        bucket(&self.world, i64::MAX, 0)
    }

    fn counted(&self) -> (Arc<FailingStore>, RecordingBucket) {
        let store = FailingStore::new(&self.world, i64::MAX, 0);
        (Arc::clone(&store), RecordingBucket::in_store(store))
    }

    async fn record(&self, recorder: &str, entries: Vec<NamedEntry>) {
        let segment = make_segment(self.folder.path(), recorder, 1, entries);
        upload(&self.bucket(), &segment).await;
    }

    async fn assert_holds(&self, cache: &str, expected: &[NamedEntry]) -> u64 {
        let (store, bucket) = self.counted();
        let found = fetch_hashes(&bucket, &self.cache(cache)).await.unwrap();
        assert!(found == hashes(expected), "{} of {}", found.len(), expected.len());
        store.gets.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn merge_of_a_thousand_calls_takes_few_puts() {
    let bed = TestBed::new();
    let entries = unique_entries(0..1000);
    let (store, bucket) = bed.counted();
    for (number, part) in (1..).zip(entries.chunks(250)) {
        let segment = make_segment(bed.folder.path(), "r", number, part.to_vec());
        upload(&bucket, &segment).await;
    }
    compact(&bucket, &bed.cache("one"), GapChoice::Refuse).await.unwrap();
    let puts = store.puts.load(Ordering::Relaxed);
    assert!(puts <= 20, "{puts}");
    let gets = bed.assert_holds("two", &entries).await;
    assert!(gets <= 20, "{gets}");
}

#[tokio::test]
async fn pull_of_ten_thousand_takes_needs_few_gets() {
    let bed = TestBed::new();
    let entries = unique_entries(0..10_000);
    let (store, bucket) = bed.counted();
    push_entries(&bucket, &bed.cache("one"), bed.folder.path(), entries.clone()).await.unwrap();
    let puts = store.puts.load(Ordering::Relaxed);
    assert!(puts <= 20, "{puts}");
    let gets = bed.assert_holds("two", &entries).await;
    assert!(gets <= 200, "{gets}");
}

#[tokio::test]
async fn many_small_merges_do_not_scatter_a_state() {
    let bed = TestBed::new();
    let entries = unique_entries(0..900);
    for (number, part) in entries.chunks(3).enumerate() {
        bed.record(&format!("r{number:03}"), part.to_vec()).await;
        // Each machine has a cache of its own.
        let cache = bed.cache(&format!("merge-{number}"));
        compact(&bed.bucket(), &cache, GapChoice::Refuse).await.unwrap();
    }
    let gets = bed.assert_holds("cold", &entries).await;
    assert!(gets <= 200, "{gets}");
    let check = check_bucket(&bed.bucket(), &bed.cache("cold"), None, CheckDepth::Contents).await;
    assert_eq!(check.unwrap().damaged_count(), 0);
}

#[tokio::test]
async fn entries_that_a_second_push_shares_are_not_uploaded_again() {
    let bed = TestBed::new();
    let entries = unique_entries(0..120);
    let (cache, folder) = (bed.cache("one"), bed.folder.path());
    push_entries(&bed.bucket(), &cache, folder, entries[..100].to_vec()).await.unwrap();
    let pushed = push_entries(&bed.bucket(), &cache, folder, entries.clone()).await.unwrap();
    assert_eq!(pushed.uploaded, 1);
    let pushed = push_entries(&bed.bucket(), &cache, folder, entries.clone()).await.unwrap();
    assert_eq!(pushed.uploaded, 0);
    bed.assert_holds("two", &entries).await;
}

#[tokio::test]
async fn warm_cache_of_packs_needs_no_entry() {
    let bed = TestBed::new();
    let entries = unique_entries(0..100);
    push_entries(&bed.bucket(), &bed.cache("one"), bed.folder.path(), entries.clone())
        .await
        .unwrap();
    bed.assert_holds("two", &entries).await;
    std::fs::remove_dir_all(bed.folder.path().join("two/recordings")).unwrap();
    let gets = bed.assert_holds("two", &entries).await;
    // The reference is read twice, to see that it has not moved.
    assert_eq!(gets, 2);
}

/// Returns all texts of the store, those in packs and objects too.
async fn texts(world: &StoreWorld) -> Vec<u8> {
    let mut texts = Vec::new();
    let listed: Vec<_> = world.objects.list(None).try_collect().await.unwrap();
    for object in listed {
        let got = world.objects.get(&object.location).await.unwrap();
        let bytes = got.bytes().await.unwrap();
        let mut members = flate2::read::MultiGzDecoder::new(&bytes[..]);
        if members.read_to_end(&mut texts).is_err() {
            texts.extend_from_slice(&bytes);
        }
    }
    texts
}

#[tokio::test]
async fn purge_takes_leaked_bytes_out_of_packs() {
    let bed = TestBed::new();
    let leaked = "geheim-7391";
    let mut entries = unique_entries(0..100);
    entries[40].1.content = Some(leaked.to_owned());
    let (cache, folder) = (bed.cache("one"), bed.folder.path());
    push_entries(&bed.bucket(), &cache, folder, entries.clone()).await.unwrap();
    entries.remove(40);
    let state = push_entries(&bed.bucket(), &cache, folder, entries.clone()).await.unwrap();
    let holds_leak =
        |texts: Vec<u8>| texts.windows(leaked.len()).any(|window| window == leaked.as_bytes());
    assert!(holds_leak(texts(&bed.world).await));
    let list = find_purgeable(&bed.bucket(), &cache).await.unwrap();
    assert_eq!((list.rewritten_packs(), list.states.len()), (1, 1));
    list.remove_objects(&bed.bucket(), &cache).await.unwrap();
    assert!(!holds_leak(texts(&bed.world).await));
    assert_eq!(bed.bucket().read_ref().await.unwrap().unwrap().state.manifest, state.manifest);
    bed.assert_holds("two", &entries).await;
    let list = find_purgeable(&bed.bucket(), &cache).await.unwrap();
    assert_eq!((list.rewritten_packs(), list.garbage.paths().len()), (0, 0));
}

#[tokio::test]
async fn purge_refuses_a_state_whose_index_is_lost() {
    let bed = TestBed::new();
    let entries = unique_entries(0..20);
    let (cache, folder) = (bed.cache("one"), bed.folder.path());
    let state = push_entries(&bed.bucket(), &cache, folder, entries.clone()).await.unwrap();
    let index = format!("agent/indexes/{}", state.manifest.digits());
    bed.world.objects.delete(&index.into()).await.unwrap();
    let refused = find_purgeable(&bed.bucket(), &bed.cache("two")).await.unwrap_err().to_string();
    assert!(refused.contains("the store does not have it"), "{refused}");
    let mut check = check_bucket(&bed.bucket(), &cache, None, CheckDepth::Listing).await.unwrap();
    assert_eq!(check.damaged_count(), entries.len());
    repair_bucket(&bed.bucket(), &bed.cache("three"), None, &mut check).await.unwrap();
    bed.assert_holds("four", &entries).await;
    let list = find_purgeable(&bed.bucket(), &cache).await.unwrap();
    assert_eq!(list.garbage.paths().len(), 0);
}
