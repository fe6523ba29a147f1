//! The check of entries in a bucket: whether each is in its pack, or an object of its own.

use std::collections::{BTreeMap, HashMap};

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::bucket::{EntryListing, RecordingBucket};
use super::content_hash::ContentHash;
use super::manifest::StateManifest;
use super::object_access::PARALLEL;
use super::pack_read::{PackRead, WantedEntry, group_by_pack};
use super::packed_text::{LARGEST_ENTRY, check_text};
use super::remote_error::RemoteError;
use super::state_index::StateIndex;

/// How many packs are read at the same time. Each is in memory.
const PACKS_AT_ONCE: usize = 4;

/// How closely objects are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// Whether they are listed, and not empty. Manifests are read.
    Listing,
    /// Each is read and hashed.
    Contents,
}

/// The entries of a state, and where they are.
#[derive(Clone, Debug)]
pub(crate) struct StateLayout {
    pub(crate) state: ContentHash,
    pub(crate) index: StateIndex,
    /// The entries, each with the length of its text.
    pub(crate) needed: BTreeMap<ContentHash, u64>,
}

impl StateLayout {
    /// Creates the layout of a state.
    pub(crate) fn new(state: ContentHash, index: StateIndex, manifest: &StateManifest) -> Self {
        let takes = manifest.takes.iter();
        let needed = takes.map(|take| (take.object.clone(), take.bytes)).collect();
        Self { state, index, needed }
    }

    /// Returns the layout with those entries only for which a condition holds.
    pub(crate) fn only_wanted(&self, is_wanted: impl Fn(&ContentHash) -> bool) -> Self {
        let needed = self.needed.iter().filter(|(hash, _)| is_wanted(hash));
        let needed = needed.map(|(hash, &text)| (hash.clone(), text)).collect();
        Self { needed, ..self.clone() }
    }
}

/// An entry that cannot be read from a pack. Names the pack and the entry.
type PackPlace = (ContentHash, ContentHash);

/// An entry that has to be an object.
struct LooseEntry {
    text: u64,
    /// What is wrong with it in its pack.
    in_pack: Option<String>,
}

/// Checks the entries of states. Returns those that cannot be used, and why.
///
/// # Errors
/// The store fails.
pub(crate) async fn check_entries(
    bucket: &RecordingBucket,
    layouts: &[StateLayout],
    depth: CheckDepth,
) -> Result<BTreeMap<ContentHash, RemoteError>, RemoteError> {
    let listing = match depth {
        CheckDepth::Listing => bucket.list_entries().await?,
        CheckDepth::Contents => EntryListing::default(),
    };
    let broken = match depth {
        CheckDepth::Listing => list_broken(layouts, &listing),
        CheckDepth::Contents => read_broken(bucket, layouts).await?,
    };
    let mut loose: BTreeMap<&ContentHash, LooseEntry> = BTreeMap::new();
    for layout in layouts {
        for (hash, &text) in &layout.needed {
            let pack = layout.index.find_entry(hash).map(|(pack, _)| &pack.pack);
            let problem = pack.and_then(|pack| {
                let problem = broken.get(&(pack.clone(), hash.clone()))?;
                Some(format!("{}: {problem}", bucket.pack_path(pack)))
            });
            if pack.is_none() || problem.is_some() {
                let entry = loose.entry(hash).or_insert(LooseEntry { text, in_pack: None });
                entry.in_pack = entry.in_pack.take().or(problem);
            }
        }
    }
    let checks = loose.into_iter().map(|(hash, entry)| {
        let listing = &listing;
        async move {
            let problem = match depth {
                CheckDepth::Listing => problem_in_listing(listing, hash),
                CheckDepth::Contents => problem_in_object(bucket, hash, entry.text).await?,
            };
            let problem = problem.map(|problem| match entry.in_pack {
                Some(in_pack) => format!("{problem}; {in_pack}"),
                None => problem,
            });
            let error = problem.map(|problem| bucket.unusable_entry(hash, problem));
            Ok::<_, RemoteError>(error.map(|error| (hash.clone(), error)))
        }
    });
    let checks = futures_util::stream::iter(checks).buffer_unordered(PARALLEL);
    let found: Vec<Option<(ContentHash, RemoteError)>> = checks.try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// Returns the entries whose packs are not listed, or have another length.
fn list_broken(layouts: &[StateLayout], listing: &EntryListing) -> HashMap<PackPlace, String> {
    let mut broken = HashMap::new();
    for pack in layouts.iter().flat_map(|layout| layout.index.packs()) {
        let problem = match listing.packs.get(&pack.pack) {
            Some(&bytes) if bytes == pack.bytes => continue,
            Some(&bytes) => other_length(bytes, pack.bytes),
            None => "the store does not have it".to_owned(),
        };
        for packed in &pack.entries {
            broken.insert((pack.pack.clone(), packed.entry.clone()), problem.clone());
        }
    }
    broken
}

fn other_length(found: u64, expected: u64) -> String {
    format!("it has {found} bytes, and should have {expected}")
}

/// Reads the packs. Returns the entries that are not right there.
async fn read_broken(
    bucket: &RecordingBucket,
    layouts: &[StateLayout],
) -> Result<HashMap<PackPlace, String>, RemoteError> {
    let mut reads: BTreeMap<ContentHash, PackRead> = BTreeMap::new();
    for layout in layouts {
        let needed = layout.needed.iter().map(|(hash, &text)| (hash, text));
        for read in group_by_pack(&layout.index, needed).0 {
            match reads.get_mut(&read.pack) {
                Some(known) => known.entries.extend(read.entries),
                None => drop(reads.insert(read.pack.clone(), read)),
            }
        }
    }
    let checks = reads.into_values().map(|mut read| async move {
        read.entries.sort();
        read.entries.dedup();
        let problems = check_pack(bucket, &read).await?;
        Ok::<_, RemoteError>((read.pack, problems))
    });
    let checks = futures_util::stream::iter(checks).buffer_unordered(PACKS_AT_ONCE);
    let found: Vec<(ContentHash, Vec<(WantedEntry, String)>)> = checks.try_collect().await?;
    let place = |(pack, problems): (ContentHash, Vec<(WantedEntry, String)>)| {
        let at =
            move |(wanted, problem): (WantedEntry, String)| ((pack.clone(), wanted.hash), problem);
        problems.into_iter().map(at)
    };
    Ok(found.into_iter().flat_map(place).collect())
}

/// Returns the entries of a pack that are not right. If it has another length than it should, all
/// are not.
async fn check_pack(
    bucket: &RecordingBucket,
    read: &PackRead,
) -> Result<Vec<(WantedEntry, String)>, RemoteError> {
    let all = |problem: String| {
        read.entries.iter().map(|wanted| (wanted.clone(), problem.clone())).collect()
    };
    let bytes = match read.read(bucket).await? {
        Ok(bytes) => bytes,
        Err(problem) => return Ok(all(problem)),
    };
    let length = bytes.0.len() as u64;
    if length != read.bytes {
        return Ok(all(other_length(length, read.bytes)));
    }
    let problem = |wanted: &WantedEntry| Some((wanted.clone(), bytes.checked_entry(wanted).err()?));
    Ok(read.entries.iter().filter_map(problem).collect())
}

fn problem_in_listing(listing: &EntryListing, hash: &ContentHash) -> Option<String> {
    match listing.objects.get(hash) {
        None => Some("the store does not have it".to_owned()),
        Some(0) => Some("it is empty".to_owned()),
        Some(_) => None,
    }
}

/// Returns what is wrong with the object of an entry, whose text has at most this many bytes.
async fn problem_in_object(
    bucket: &RecordingBucket,
    hash: &ContentHash,
    text: u64,
) -> Result<Option<String>, RemoteError> {
    match bucket.get_entry(hash, text).await {
        Ok(packed) => Ok(check_text(&packed, hash, text.min(LARGEST_ENTRY)).err()),
        Err(RemoteError::Object { problem, .. }) => Ok(Some(problem)),
        Err(error) => Err(error),
    }
}
