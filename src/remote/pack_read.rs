//! The reading of packs: which part of a pack is read, and the entries in it.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::packed_text::{LARGEST_ENTRY, check_text, packed_limit};
use super::remote_error::RemoteError;
use super::state_index::StateIndex;

/// A pack is read whole if at least one byte of so many is needed.
const WHOLE_SHARE: u64 = 4;

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

/// A part of a pack, or all of it.
#[derive(Debug)]
pub(crate) struct PackBytes {
    offset: u64,
    pub(crate) bytes: Bytes,
}

/// Returns what is to be read from packs to get these entries, each with the length of its text, and
/// the entries that are in no pack.
pub(crate) fn group_by_pack<'a>(
    index: &StateIndex,
    entries: impl Iterator<Item = (&'a ContentHash, u64)>,
) -> (Vec<PackRead>, Vec<&'a ContentHash>) {
    let mut reads: BTreeMap<&ContentHash, PackRead> = BTreeMap::new();
    let mut others = Vec::new();
    for (hash, text) in entries {
        let Some((pack, place)) = index.find(hash) else {
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
    /// Returns the part that is read: from the first needed byte to the last, or all.
    fn span(&self) -> Range<u64> {
        let needed: u64 = self.entries.iter().map(|wanted| wanted.length).sum();
        let first = self.entries.iter().map(|wanted| wanted.offset).min();
        let last = self.entries.iter().map(WantedEntry::end).max();
        match (first, last) {
            (Some(first), Some(last)) if needed.saturating_mul(WHOLE_SHARE) < self.bytes => {
                first..last
            }
            _ => 0..self.bytes,
        }
    }

    /// Returns how many bytes are in memory while the pack is read.
    pub(crate) fn room(&self) -> u64 {
        self.span().end - self.span().start
    }

    /// Reads what is needed. The inner error says why there is nothing.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn read(
        &self,
        bucket: &RecordingBucket,
    ) -> Result<Result<PackBytes, String>, RemoteError> {
        let span = self.span();
        let is_part = span != (0..self.bytes);
        if is_part && let Some(bytes) = bucket.get_pack_span(&self.pack, span.clone()).await {
            return Ok(Ok(PackBytes { offset: span.start, bytes }));
        }
        self.read_whole(bucket).await
    }

    /// Reads all of the pack. The inner error says why there is nothing.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn read_whole(
        &self,
        bucket: &RecordingBucket,
    ) -> Result<Result<PackBytes, String>, RemoteError> {
        match bucket.get_pack(&self.pack).await {
            Ok(Some(bytes)) => Ok(Ok(PackBytes { offset: 0, bytes })),
            Ok(None) => Ok(Err("the store does not have it".to_owned())),
            Err(RemoteError::Object { problem, .. }) => Ok(Err(problem)),
            Err(error) => Err(error),
        }
    }
}

impl WantedEntry {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

impl PackBytes {
    /// Whether these are all bytes of a pack.
    pub(crate) fn is_whole(&self, pack: &ContentHash) -> bool {
        self.offset == 0 && ContentHash::from_bytes(&self.bytes) == *pack
    }

    /// Returns an entry, as it is stored. It has been checked against its hash.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn entry(&self, wanted: &WantedEntry) -> Result<&[u8], String> {
        if wanted.length > packed_limit(wanted.text) {
            return Err(format!("the index gives it {} bytes", wanted.length));
        }
        let place = |at: u64| at.checked_sub(self.offset).and_then(|at| usize::try_from(at).ok());
        let packed = match (place(wanted.offset), place(wanted.end())) {
            (Some(from), Some(to)) => self.bytes.get(from..to),
            _ => None,
        };
        let packed = packed.ok_or("the pack is too short")?;
        check_text(packed, &wanted.hash, wanted.text.min(LARGEST_ENTRY))?;
        Ok(packed)
    }
}
