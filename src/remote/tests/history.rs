//! Histories of a recording in a store: recorders, pushes, merges that are killed, repairs and
//! clean-ups, with objects and files of the cache that are lost or damaged in between. At the end,
//! each acknowledged call is there, or a command fails and names what is wrong.
//!
//! `PROPTEST_CASES` is the number of histories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use loomrec_recording::redact::CallCredentials;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use proptest::prelude::*;

use super::failing_store::{StoreWorld, bucket};
use super::history_steps::{DamageKind, ENDLESS, HistoryStep, any_step, damaged};
use super::made_segment::{make_segment, unique_entry, upload};
use super::packs::{NamedEntry, fetch_hashes, hash_of, make_recording, push_entries};
use crate::bucket::RecordingBucket;
use crate::bucket_check::check_bucket;
use crate::bucket_repair::repair_bucket;
use crate::collection::{GarbageTerms, find_garbage};
use crate::compact::{CompactedState, compact};
use crate::content_hash::ContentHash;
use crate::entry_check::CheckDepth;
use crate::listed_segment::SegmentName;
use crate::local_cache::LocalCache;
use crate::object_name::ObjectName;
use crate::pack_search::split_pack;
use crate::purge::find_purgeable;
use crate::remote_error::RemoteError;
use crate::secret_free::SecretFree;
use crate::segment_plan::GapChoice;
use crate::state_loader::load_manifest;

/// A recording, as the history knows it.
struct RecordedHistory {
    folder: tempfile::TempDir,
    world: Arc<StoreWorld>,
    /// The calls that must be there.
    acknowledged: BTreeMap<ContentHash, NamedEntry>,
    next_call: u32,
    segments: [u32; 2],
    is_damaged: bool,
}

impl RecordedHistory {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            world: Arc::new(StoreWorld::default()),
            acknowledged: BTreeMap::new(),
            next_call: 0,
            segments: [0; 2],
            is_damaged: false,
        }
    }

    fn cache(&self, name: impl ToString) -> LocalCache {
        LocalCache::new(self.folder.path().join(format!("cache-{}", name.to_string())), None)
    }

    fn bucket(&self) -> RecordingBucket {
        bucket(&self.world, ENDLESS, 1)
    }

    fn new_entries(&mut self, count: u32) -> Vec<NamedEntry> {
        let first = self.next_call;
        self.next_call += count;
        let length = |number: u32| 40 + (number as usize * 97) % 900;
        (first..self.next_call).map(|number| unique_entry(number, length(number))).collect()
    }

    fn acknowledge(&mut self, entries: Vec<NamedEntry>) {
        self.acknowledged.extend(entries.into_iter().map(|entry| (hash_of(&entry), entry)));
    }

    async fn carry_out(&mut self, step: HistoryStep) {
        let done = match step {
            HistoryStep::Record { recorder, calls } => {
                self.record(recorder, calls).await;
                return;
            }
            HistoryStep::Compact { cache, killed_after } => {
                let (store, cache) = (bucket(&self.world, killed_after, 0), self.cache(cache));
                let done = compact(&store, &cache, GapChoice::Refuse).await;
                (killed_after == ENDLESS, refuse_loss(done))
            }
            HistoryStep::CompactTwice { killed_after, seed } => {
                let one = bucket(&self.world, killed_after, seed);
                let other = bucket(&self.world, ENDLESS, seed + 3);
                let caches = [self.cache(0), self.cache(1)];
                let (_, done) = tokio::join!(
                    compact(&one, &caches[0], GapChoice::Refuse),
                    compact(&other, &caches[1], GapChoice::Refuse)
                );
                (true, refuse_loss(done))
            }
            HistoryStep::Push { forgotten, added, killed_after } => {
                (killed_after == ENDLESS, self.push(forgotten, added, killed_after).await)
            }
            HistoryStep::Collect { days } => {
                self.world.pass(days * 24 * 3600);
                (true, self.collect().await)
            }
            HistoryStep::Purge => (true, self.purge().await),
            HistoryStep::Fix { cache } => {
                let (store, cache) = (self.bucket(), self.cache(cache));
                (true, repair(&store, &cache, None).await)
            }
            HistoryStep::Repair => {
                let all = self.acknowledged.values().cloned().collect();
                let recording = make_recording(self.folder.path(), all);
                let secrets = CallCredentials::default();
                let recording = SecretFree { recording: &recording, secrets: &secrets };
                (true, repair(&self.bucket(), &self.cache("repair"), Some(&recording)).await)
            }
            HistoryStep::DamageStore { which, how, at } => {
                self.damage_store(which, how, at).await;
                return;
            }
            HistoryStep::DamageCache { which, how, at } => {
                self.damage_cache(which, how, at);
                return;
            }
        };
        if let (true, Err(error)) = done {
            assert!(self.is_damaged && is_named(&error), "{error:?}");
        }
    }

    async fn record(&mut self, recorder: u8, calls: u32) {
        let entries = self.new_entries(calls);
        let number = &mut self.segments[usize::from(recorder)];
        *number += 1;
        let name = format!("r{recorder}");
        let segment = make_segment(self.folder.path(), &name, *number, entries.clone());
        upload(&self.bucket(), &segment).await;
        self.acknowledge(entries);
    }

    /// Pushes what is known, but for some calls, and with new ones.
    async fn push(
        &mut self,
        forgotten: usize,
        added: u32,
        killed_after: i64,
    ) -> Result<(), RemoteError> {
        compact(&self.bucket(), &self.cache(0), GapChoice::Refuse).await?;
        let forgotten: Vec<ContentHash> =
            self.acknowledged.keys().step_by(3).take(forgotten).cloned().collect();
        for hash in &forgotten {
            self.acknowledged.remove(hash);
        }
        let added = self.new_entries(added);
        let mut all: Vec<NamedEntry> = self.acknowledged.values().cloned().collect();
        all.extend(added.clone());
        let store = bucket(&self.world, killed_after, 0);
        let pushed = push_entries(&store, &self.cache("push"), self.folder.path(), all).await;
        // If the first push is killed, a state is left that the reference may have named.
        self.is_damaged |=
            pushed.is_err() && self.bucket().read_ref().await.is_ok_and(|at| at.is_none());
        pushed?;
        self.acknowledge(added);
        Ok(())
    }

    async fn collect(&self) -> Result<(), RemoteError> {
        let (store, cache) = (self.bucket(), self.cache("gc"));
        let terms = GarbageTerms { keep: Duration::ZERO, pinned: Vec::new() };
        match find_garbage(&store, &cache, &terms).await {
            Ok(mut garbage) => {
                let lost = garbage.lost.take();
                garbage.remove_objects(&store).await?;
                lost.map_or(Ok(()), Err)
            }
            Err(error) => Err(error),
        }
    }

    /// Purges the recording, and checks that no bytes of other entries are left.
    async fn purge(&self) -> Result<(), RemoteError> {
        let (store, cache) = (self.bucket(), self.cache(0));
        let list = match find_purgeable(&store, &cache).await {
            // There is nothing to purge, or it may not be purged now.
            Err(RemoteError::UnmergedPurge { .. } | RemoteError::NotFound { .. }) => return Ok(()),
            list => list?,
        };
        list.remove_objects(&store, &cache).await?;
        let newest = store.read_ref().await?.unwrap().state.manifest;
        let manifest = load_manifest(&store, &cache, &newest).await?;
        let needed: BTreeSet<&ContentHash> =
            manifest.takes.iter().map(|take| &take.object).collect();
        for object in self.listed().await {
            let hash = ContentHash::of_path(&object);
            let entries = match ObjectName::split_path(object.as_ref()) {
                Some((_, ObjectName::Entry)) => hash.into_iter().collect(),
                Some((_, ObjectName::Pack)) => {
                    let got = self.world.objects.get(&object).await.unwrap();
                    let bytes = got.bytes().await.unwrap();
                    // The bytes of a damaged one are anything.
                    match Some(ContentHash::from_bytes(&bytes)) == hash {
                        true => split_pack(&bytes).into_iter().map(|packed| packed.entry).collect(),
                        false => Vec::new(),
                    }
                }
                _ => continue,
            };
            assert!(entries.iter().all(|entry| needed.contains(entry)), "{object}");
        }
        Ok(())
    }

    async fn listed(&self) -> Vec<Path> {
        let listed: Vec<_> = self.world.objects.list(None).try_collect().await.unwrap();
        let mut paths: Vec<Path> = listed.into_iter().map(|object| object.location).collect();
        paths.sort();
        paths
    }

    /// Damages an object. Nobody could notice that the last segment of a recorder is gone, or that
    /// the reference is an older one.
    async fn damage_store(&mut self, which: usize, how: DamageKind, at: usize) {
        let listed = self.listed().await;
        if listed.is_empty() {
            return;
        }
        let path = &listed[which % listed.len()];
        let number = path.filename().and_then(SegmentName::parse).map(|name| name.number);
        let is_last = |number: u32| {
            let recorder = usize::from(path.as_ref().contains("/r1/"));
            self.segments[recorder] <= number
        };
        let is_ref = path.filename() == Some("ref");
        let is_unnoticed = match how {
            DamageKind::Deleted => number.is_some_and(is_last),
            DamageKind::Replaced => is_ref,
            _ => false,
        };
        if is_unnoticed {
            return;
        }
        self.is_damaged = true;
        let content = self.world.objects.get(path).await.unwrap().bytes().await.unwrap();
        let other = {
            let history = self.world.history.lock().unwrap();
            history[at % history.len()].1.to_vec()
        };
        match damaged(&content, how, at, other) {
            None => self.world.objects.delete(path).await.unwrap(),
            Some(content) => drop(self.world.objects.put(path, content.into()).await.unwrap()),
        }
    }

    fn damage_cache(&self, which: usize, how: DamageKind, at: usize) {
        let mut files = Vec::new();
        let mut folders: Vec<PathBuf> = (0..2)
            .map(|cache| self.folder.path().join(format!("cache-{cache}")))
            .filter(|folder| folder.exists())
            .collect();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files.sort();
        if files.is_empty() {
            return;
        }
        let path = &files[which % files.len()];
        let other = std::fs::read(&files[at % files.len()]).unwrap();
        match damaged(&std::fs::read(path).unwrap(), how, at, other) {
            None => std::fs::remove_file(path).unwrap(),
            Some(content) => std::fs::write(path, content).unwrap(),
        }
    }

    async fn check(&self) {
        // A gap is one once it lasts.
        self.world.pass(3600);
        let store = self.bucket();
        for cache in [self.cache("fresh"), self.cache(0)] {
            match fetch_hashes(&store, &cache).await {
                Ok(found) => {
                    let lost = self.acknowledged.keys().find(|hash| !found.contains(hash));
                    assert_eq!(lost, None, "a call is missing, and nothing was said");
                }
                Err(RemoteError::NotFound { .. }) if self.acknowledged.is_empty() => {}
                Err(error) => {
                    assert!(self.is_damaged && is_named(&error), "{error:?}");
                }
            }
        }
        let checked = check_bucket(&store, &self.cache("check"), None, CheckDepth::Contents).await;
        let is_whole = checked.is_ok_and(|check| check.damaged_count() == 0 && !check.is_partial);
        if is_whole {
            self.collect().await.expect("gc names a hole that verify does not find");
        }
        let compacted = compact(&store, &self.cache("last"), GapChoice::Refuse).await;
        let is_merged = compacted.as_ref().is_ok_and(|done| done.manifest.is_some());
        let listed = check_bucket(&store, &self.cache("check"), None, CheckDepth::Listing).await;
        if listed.is_ok_and(|check| !check.entries.is_empty()) {
            assert!(refuse_loss(compacted).is_err(), "compact says nothing of a hole");
            assert!(self.collect().await.is_err(), "gc says nothing of a hole");
        }
        if is_whole && is_merged {
            let found = fetch_hashes(&store, &self.cache("whole")).await.unwrap();
            assert!(self.acknowledged.keys().all(|hash| found.contains(hash)));
        }
    }
}

/// Fails as the command does, if the state is not whole.
fn refuse_loss(done: Result<CompactedState, RemoteError>) -> Result<(), RemoteError> {
    done?.lost.map_or(Ok(()), Err)
}

async fn repair(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    recording: Option<&SecretFree<'_>>,
) -> Result<(), RemoteError> {
    let mut check = check_bucket(bucket, cache, None, CheckDepth::Contents).await?;
    repair_bucket(bucket, cache, recording, &mut check).await?;
    check.into_error().map_or(Ok(()), Err)
}

/// Whether an error names an entry, a state, a segment or the reference.
fn is_named(error: &RemoteError) -> bool {
    matches!(
        error,
        RemoteError::Object { .. }
            | RemoteError::Objects { .. }
            | RemoteError::Manifest { .. }
            | RemoteError::OtherFormat { .. }
            | RemoteError::NotFound { .. }
            | RemoteError::Gap { .. }
            | RemoteError::LostRef(_)
            | RemoteError::TwinSegments { .. }
    )
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn nothing_is_lost_without_a_word(steps in proptest::collection::vec(any_step(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut history = RecordedHistory::new();
            for step in steps {
                history.carry_out(step).await;
            }
            history.check().await;
        });
    }
}
