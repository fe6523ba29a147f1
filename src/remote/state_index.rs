//! The index of a state: in which packs its entries lie. It is a hint: an entry that is read from a
//! pack is checked against its hash.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read as _};

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use super::content_hash::ContentHash;
use super::packed_text::LARGEST_MANIFEST;

/// The format that this version writes and reads.
const FORMAT: &str = "loomrec-index/1";

/// The most bytes of an entry that goes into a pack, as it is stored. A larger one is an object.
pub(crate) const LARGEST_PACKED_ENTRY: u64 = 512 << 10;

/// A pack is closed before it would have more bytes than this.
pub(crate) const PACK_SIZE: u64 = 8 << 20;

/// The most bytes of a pack that is read.
pub(crate) const LARGEST_PACK: u64 = PACK_SIZE + LARGEST_PACKED_ENTRY;

/// What is wrong with the text of an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It is not JSON of the right shape.
    #[error("it is no index: {0}")]
    Shape(#[from] serde_json::Error),
    /// A newer loomrec wrote it.
    #[error("its format is {found:?}; this version reads {FORMAT:?}")]
    Format {
        /// The format that it names.
        found: String,
    },
    /// A pack would be larger than any that is written.
    #[error("it names a pack of {bytes} bytes; the most is {LARGEST_PACK}")]
    Pack {
        /// How many bytes the pack would have.
        bytes: u64,
    },
    /// An entry is not within its pack.
    #[error("it names {entry} beyond the end of its pack")]
    Entry {
        /// The entry.
        entry: ContentHash,
    },
}

/// The packs of a state.
#[derive(Clone, Debug, Default)]
pub struct StateIndex {
    packs: Vec<IndexedPack>,
    places: HashMap<ContentHash, (usize, usize)>,
}

/// A pack, and the entries in it that a state needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedPack {
    /// The hash of its bytes.
    pub pack: ContentHash,
    /// Its length in bytes.
    pub bytes: u64,
    /// The entries.
    pub entries: Vec<PackedEntry>,
}

/// An entry in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(ContentHash, u64, u64)", into = "(ContentHash, u64, u64)")]
pub struct PackedEntry {
    /// The hash of its text.
    pub entry: ContentHash,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its length in bytes, as it is stored.
    pub length: u64,
}

#[derive(Serialize, Deserialize)]
struct IndexText {
    format: String,
    packs: Vec<IndexedPack>,
}

impl StateIndex {
    /// Creates the index of these packs. If an entry is in several, the first one counts.
    pub(crate) fn from_packs(packs: Vec<IndexedPack>) -> Self {
        let mut places = HashMap::new();
        for (at, pack) in packs.iter().enumerate() {
            for (number, packed) in pack.entries.iter().enumerate() {
                places.entry(packed.entry.clone()).or_insert((at, number));
            }
        }
        Self { packs, places }
    }

    /// Reads an index from its compressed text.
    ///
    /// # Errors
    /// The text has another form, is of a newer format, or names what no pack can hold.
    pub fn from_packed(packed: &[u8]) -> Result<Self, IndexError> {
        let text = BufReader::new(GzDecoder::new(packed).take(LARGEST_MANIFEST));
        let IndexText { format, packs } = serde_json::from_reader(text)?;
        if format != FORMAT {
            return Err(IndexError::Format { found: format });
        }
        for pack in &packs {
            if pack.bytes > LARGEST_PACK {
                return Err(IndexError::Pack { bytes: pack.bytes });
            }
            let is_outside = |packed: &&PackedEntry| {
                let end = packed.offset.checked_add(packed.length);
                packed.length == 0 || end.is_none_or(|end| end > pack.bytes)
            };
            if let Some(packed) = pack.entries.iter().find(is_outside) {
                return Err(IndexError::Entry { entry: packed.entry.clone() });
            }
        }
        Ok(Self::from_packs(packs))
    }

    /// Returns the text. Equal indexes have equal texts.
    pub fn to_text(&self) -> Vec<u8> {
        let text = IndexText { format: FORMAT.to_owned(), packs: self.packs.clone() };
        // Texts and numbers are always JSON.
        let mut text = serde_json::to_vec(&text).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// Returns the packs.
    pub fn packs(&self) -> &[IndexedPack] {
        &self.packs
    }

    /// Whether no entry is in a pack.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the pack of an entry, and its place there; `None` if it is an object of its own.
    pub(crate) fn find_entry(&self, entry: &ContentHash) -> Option<(&IndexedPack, &PackedEntry)> {
        let &(at, number) = self.places.get(entry)?;
        let pack = self.packs.get(at)?;
        Some((pack, pack.entries.get(number)?))
    }

    /// Returns the index with the entries for which a condition holds, in the packs for which one
    /// holds.
    pub(crate) fn filtered(
        &self,
        has_pack: impl Fn(&IndexedPack) -> bool,
        has_entry: impl Fn(&ContentHash) -> bool,
    ) -> Self {
        let mut packs = Vec::new();
        for pack in self.packs.iter().filter(|pack| has_pack(pack)) {
            let entries = pack.entries.iter().filter(|packed| has_entry(&packed.entry));
            let entries: Vec<PackedEntry> = entries.cloned().collect();
            if !entries.is_empty() {
                packs.push(IndexedPack { entries, ..pack.clone() });
            }
        }
        Self::from_packs(packs)
    }

    /// Returns the index with more packs. Their entries are no longer where they were, nor are those
    /// of `moved`.
    pub(crate) fn with_packs(self, added: Vec<IndexedPack>, moved: &HashSet<ContentHash>) -> Self {
        let mut packs = self.filtered(|_| true, |entry| !moved.contains(entry)).packs;
        packs.extend(added);
        Self::from_packs(packs)
    }
}

impl IndexedPack {
    /// Returns how many bytes of the pack its entries cover.
    pub(crate) fn covered_bytes(&self) -> u64 {
        let mut spans: Vec<(u64, u64)> =
            self.entries.iter().map(|packed| (packed.offset, packed.end_offset())).collect();
        spans.sort_unstable();
        let mut covered = 0;
        let mut end = 0;
        for (from, to) in spans {
            covered += to.saturating_sub(from.max(end));
            end = end.max(to);
        }
        covered
    }
}

impl PackedEntry {
    /// Returns where the entry ends, in bytes.
    pub(crate) fn end_offset(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

impl From<(ContentHash, u64, u64)> for PackedEntry {
    fn from((entry, offset, length): (ContentHash, u64, u64)) -> Self {
        Self { entry, offset, length }
    }
}

impl From<PackedEntry> for (ContentHash, u64, u64) {
    fn from(packed: PackedEntry) -> Self {
        (packed.entry, packed.offset, packed.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed_text::pack_text;

    fn hash(name: &str) -> ContentHash {
        ContentHash::from_bytes(name.as_bytes())
    }

    fn pack(name: &str, bytes: u64, entries: &[(&str, u64, u64)]) -> IndexedPack {
        let entries = entries.iter().map(|&(entry, offset, length)| PackedEntry {
            entry: hash(entry),
            offset,
            length,
        });
        IndexedPack { pack: hash(name), bytes, entries: entries.collect() }
    }

    #[test]
    fn index_is_read_as_it_is_written_and_bounded() {
        let read = |packs| {
            let text = StateIndex::from_packs(packs).to_text();
            StateIndex::from_packed(&pack_text(&text).unwrap())
        };
        let packs = vec![pack("p", 10, &[("a", 0, 4), ("b", 4, 6)]), pack("q", 3, &[("a", 0, 3)])];
        let found = read(packs.clone()).unwrap();
        assert_eq!(found.packs(), packs);
        assert_eq!(found.find_entry(&hash("a")).unwrap().0.pack, hash("p"));
        assert_eq!(found.find_entry(&hash("b")).unwrap().1.offset, 4);
        assert!(found.find_entry(&hash("c")).is_none());
        for (packs, problem) in [
            (pack("p", LARGEST_PACK + 1, &[]), "a pack of"),
            (pack("p", 10, &[("a", 5, 6)]), "beyond the end"),
            (pack("p", 10, &[("a", 5, 0)]), "beyond the end"),
            (pack("p", 10, &[("a", u64::MAX, 2)]), "beyond the end"),
        ] {
            let refused = read(vec![packs]).unwrap_err().to_string();
            assert!(refused.contains(problem), "{refused}");
        }
        for text in ["", "{}", r#"{"format": "loomrec-index/2", "packs": []}"#] {
            let packed = pack_text(text.as_bytes()).unwrap();
            assert!(StateIndex::from_packed(&packed).is_err(), "{text}");
        }
    }

    #[test]
    fn covered_bytes_are_counted_once() {
        assert_eq!(pack("p", 20, &[("a", 10, 5), ("b", 0, 4), ("c", 2, 4)]).covered_bytes(), 11);
        assert_eq!(pack("p", 20, &[]).covered_bytes(), 0);
    }

    #[test]
    fn moved_entries_leave_their_packs() {
        let index = StateIndex::from_packs(vec![
            pack("p", 10, &[("a", 0, 4), ("b", 4, 6)]),
            pack("q", 3, &[("c", 0, 3)]),
        ]);
        let moved = HashSet::from([hash("a"), hash("c")]);
        let index = index.with_packs(vec![pack("r", 4, &[("a", 0, 4)])], &moved);
        let names: Vec<&ContentHash> = index.packs().iter().map(|pack| &pack.pack).collect();
        assert_eq!(names, [&hash("p"), &hash("r")]);
        assert_eq!(index.find_entry(&hash("a")).unwrap().0.pack, hash("r"));
        assert!(index.find_entry(&hash("c")).is_none());
    }
}
