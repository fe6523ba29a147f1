//! Which entries of a state are packed anew, so that it is not scattered over many small objects.

use std::collections::BTreeSet;

use super::content_hash::ContentHash;
use super::state_index::{IndexedPack, StateIndex};

/// A pack of fewer entries is not worth the room in the index: they are objects.
pub(crate) const SMALLEST_PACK: usize = 8;

/// A pack with fewer bytes than this is small.
const SMALL_PACK: u64 = 1 << 20;

/// How many small packs a state has at most.
const MOST_SMALL_PACKS: usize = 16;

/// How many small objects of entries a state has at most.
pub(crate) const MOST_LOOSE: usize = 64;

/// Returns the entries that are packed anew, and so leave their packs. `index` has what the state
/// needs, `loose` its small objects, and `new` is how many entries are added.
pub(crate) fn plan_packs(
    index: &StateIndex,
    loose: &BTreeSet<ContentHash>,
    new: usize,
) -> BTreeSet<ContentHash> {
    let is_sparse = |pack: &&IndexedPack| pack.covered_bytes() * 2 < pack.bytes;
    let (sparse, dense): (Vec<_>, Vec<_>) = index.packs().iter().partition(is_sparse);
    let small: Vec<&IndexedPack> =
        dense.into_iter().filter(|pack| pack.bytes < SMALL_PACK).collect();
    let entries = |packs: Vec<&IndexedPack>| {
        let entries = packs.into_iter().flat_map(|pack| &pack.entries);
        entries.map(|packed| packed.entry.clone()).collect::<BTreeSet<_>>()
    };
    let mut moved = entries(sparse);
    let written = new + moved.len();
    let (packs, objects) = match written < SMALLEST_PACK {
        true => (0, written),
        false => (1, 0),
    };
    if small.len() + packs > MOST_SMALL_PACKS || loose.len() + objects > MOST_LOOSE {
        moved.extend(entries(small));
        moved.extend(loose.iter().cloned());
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_index::PackedEntry;

    fn hash(number: u64) -> ContentHash {
        ContentHash::from_bytes(&number.to_le_bytes())
    }

    /// Returns a pack of this length, half of which an entry covers, or all.
    fn pack(number: u64, bytes: u64, length: u64) -> IndexedPack {
        let entry = PackedEntry { entry: hash(number), offset: 0, length };
        IndexedPack { pack: hash(number + 1000), bytes, entries: vec![entry] }
    }

    fn plan(packs: Vec<IndexedPack>, loose: u64, new: usize) -> usize {
        let loose: BTreeSet<ContentHash> = (2000..2000 + loose).map(hash).collect();
        plan_packs(&StateIndex::from_packs(packs), &loose, new).len()
    }

    #[test]
    fn few_small_packs_and_objects_stay() {
        let small = |count| (0..count).map(|number| pack(number, 1000, 1000)).collect();
        assert_eq!(plan(small(16), 64, 0), 0);
        assert_eq!(plan(small(15), 64, 8), 0);
        assert_eq!(plan(small(16), 61, 3), 0);
    }

    #[test]
    fn too_many_small_ones_are_all_packed_anew() {
        let small = |count| (0..count).map(|number| pack(number, 1000, 1000)).collect();
        assert_eq!(plan(small(17), 5, 0), 22);
        assert_eq!(plan(small(16), 5, 8), 21);
        assert_eq!(plan(small(2), 65, 0), 67);
        assert_eq!(plan(small(2), 62, 3), 64);
        let large = (0..100).map(|number| pack(number, SMALL_PACK, SMALL_PACK)).collect();
        assert_eq!(plan(large, 64, 8), 0);
    }

    #[test]
    fn pack_of_which_less_than_half_is_needed_is_packed_anew() {
        assert_eq!(plan(vec![pack(0, 2 << 20, 1 << 20)], 0, 0), 0);
        assert_eq!(plan(vec![pack(0, 2 << 20, (1 << 20) - 1)], 0, 0), 1);
    }
}
