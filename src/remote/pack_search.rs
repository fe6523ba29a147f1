//! The search of packs for entries, without an index: the bytes of a pack say what is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use flate2::bufread::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::bucket::RecordingBucket;
use super::content_hash::ContentHash;
use super::packed_text::LARGEST_ENTRY;
use super::remote_error::RemoteError;
use super::state_index::{IndexedPack, PackedEntry};

/// How many bytes of a text are read at a time.
const PIECE: usize = 64 << 10;

/// Entries that were found in packs.
#[derive(Debug, Default)]
pub(crate) struct FoundEntries {
    /// Packs that are right, with the entries in them that were looked for.
    pub(crate) packs: Vec<IndexedPack>,
    /// Entries that are right in packs that are not, as they are stored.
    pub(crate) salvaged: BTreeMap<ContentHash, Vec<u8>>,
}

/// Looks for entries in all packs of a bucket.
///
/// # Errors
/// The store fails.
pub(crate) async fn search_packs(
    bucket: &RecordingBucket,
    entries: &BTreeSet<ContentHash>,
) -> Result<FoundEntries, RemoteError> {
    let mut found = FoundEntries::default();
    for pack in bucket.list_entries().await?.packs.into_keys() {
        let bytes = match bucket.get_pack(&pack).await {
            Err(RemoteError::Object { .. }) | Ok(None) => continue,
            bytes => bytes?.unwrap_or_default(),
        };
        let mut members = split_pack(&bytes);
        members.retain(|packed| entries.contains(&packed.entry));
        if members.is_empty() {
            continue;
        }
        if ContentHash::from_bytes(&bytes) == pack {
            let length = bytes.len() as u64;
            found.packs.push(IndexedPack { pack, bytes: length, entries: members });
            continue;
        }
        for packed in members {
            let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
            let slice = bytes.get(at(packed.offset)..at(packed.end_offset())).unwrap_or_default();
            found.salvaged.insert(packed.entry, slice.to_vec());
        }
    }
    Ok(found)
}

/// Returns the entries that the bytes of a pack begin with, up to the first that is damaged.
pub fn split_pack(bytes: &[u8]) -> Vec<PackedEntry> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = (bytes.len() - rest.len()) as u64;
        let Some(entry) = read_member(&mut rest) else { break };
        let end = (bytes.len() - rest.len()) as u64;
        entries.push(PackedEntry { entry, offset, length: end - offset });
    }
    entries
}

/// Reads one compressed text, and moves behind it. Returns its hash; `None` if it is damaged.
fn read_member(rest: &mut &[u8]) -> Option<ContentHash> {
    let mut decoder = GzDecoder::new(*rest);
    let (mut digest, mut length) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let read = decoder.read(&mut piece).ok()?;
        if read == 0 {
            break;
        }
        length += read as u64;
        if length > LARGEST_ENTRY {
            return None;
        }
        digest.update(&piece[..read]);
    }
    *rest = decoder.into_inner();
    Some(ContentHash::from_digest(digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack_builder::PackBuilder;
    use crate::packed_text::pack_text;

    #[test]
    fn pack_is_split_into_what_was_put_into_it() {
        let mut builder = PackBuilder::default();
        for number in 0..20 {
            let text = format!("entry {number}").repeat(number + 1);
            let hash = ContentHash::from_bytes(text.as_bytes());
            builder.add(hash, &pack_text(text.as_bytes()).unwrap());
        }
        let built = builder.take_pack();
        assert_eq!(split_pack(&built.bytes), built.indexed.entries);
        let mut damaged = built.bytes.clone();
        let at = usize::try_from(built.indexed.entries[7].end_offset()).unwrap() - 3;
        damaged[at] ^= 1;
        assert_eq!(split_pack(&damaged), built.indexed.entries[..7]);
        assert_eq!(split_pack(b"no pack"), []);
    }
}
