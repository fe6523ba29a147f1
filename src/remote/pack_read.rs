//! The reading of packs, and of the entries in them.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::packed_text::{LARGEST_ENTRY, check_text, packed_limit};
use super::remote_error::RemoteError;
use super::state_index::StateIndex;

/// An entry in a pack that is to be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedEntry {
    pub(crate) hash: ContentHash,
    /// The most bytes of its text.
    pub(crate) text: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The entries that are to be read from a pack.
#[derive(Clone, Debug)]
pub(crate) struct PackRead {
    pub(crate) pack: ContentHash,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    pub(crate) entries: Vec<WantedEntry>,
}

/// The bytes of a pack.
#[derive(Debug)]
pub(crate) struct PackBytes(pub(crate) Bytes);

/// Returns what is to be read from packs to get these entries, each with the length of its text, and
/// the entries that are in no pack.
pub(crate) fn group_by_pack<'a>(
    index: &StateIndex,
    entries: impl Iterator<Item = (&'a ContentHash, u64)>,
) -> (Vec<PackRead>, Vec<&'a ContentHash>) {
    let mut reads: BTreeMap<&ContentHash, PackRead> = BTreeMap::new();
    let mut others = Vec::new();
    for (hash, text) in entries {
        let Some((pack, place)) = index.find_entry(hash) else {
            others.push(hash);
            continue;
        };
        let read = reads.entry(&pack.pack).or_insert_with(|| PackRead {
            pack: pack.pack.clone(),
            bytes: pack.bytes,
            entries: Vec::new(),
        });
        let (hash, offset, length) = (hash.clone(), place.offset, place.length);
        read.entries.push(WantedEntry { hash, text, offset, length });
    }
    (reads.into_values().collect(), others)
}

impl PackRead {
    /// Reads the pack. The inner error says why there is nothing.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn read(
        &self,
        bucket: &RecordingBucket,
    ) -> Result<Result<PackBytes, String>, RemoteError> {
        match bucket.get_pack(&self.pack).await {
            Ok(Some(bytes)) => Ok(Ok(PackBytes(bytes))),
            Ok(None) => Ok(Err("the store does not have it".to_owned())),
            Err(RemoteError::Object { problem, .. }) => Ok(Err(problem)),
            Err(error) => Err(error),
        }
    }
}

impl WantedEntry {
    fn end_offset(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

impl PackBytes {
    /// Whether these are the bytes of this pack, none of them damaged.
    pub(crate) fn is_right(&self, pack: &ContentHash) -> bool {
        ContentHash::from_bytes(&self.0) == *pack
    }

    /// Returns an entry, as it is stored. It has been checked against its hash.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn checked_entry(&self, wanted: &WantedEntry) -> Result<&[u8], String> {
        if wanted.length > packed_limit(wanted.text) {
            return Err(format!("the index gives it {} bytes", wanted.length));
        }
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let packed = self.0.get(place(wanted.offset)..place(wanted.end_offset()));
        let packed = packed.ok_or("the pack is too short")?;
        check_text(packed, &wanted.hash, wanted.text.min(LARGEST_ENTRY))?;
        Ok(packed)
    }
}
