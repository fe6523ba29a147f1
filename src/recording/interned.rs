//! Interned byte strings: each is kept once and has a number. One block of memory holds all of
//! them.

use std::hash::BuildHasher as _;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The memory that is reserved for each string, in bytes.
const ROOM_FOR_EACH: usize = 16;

/// A set of byte strings, numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct InternedBytes {
    bytes: Vec<u8>,
    ends: Ends,
    /// An index from strings to numbers. It is rebuilt when it is needed.
    numbers: OnceLock<HashTable<u32>>,
    hashing: RandomState,
}

impl InternedBytes {
    /// Returns the number of `text`, and whether this call added it.
    pub fn insert(&mut self, text: &[u8]) -> (u32, bool) {
        if let Some(number) = self.find_number(text) {
            return (number, false);
        }
        let Self { bytes, ends, numbers, hashing } = self;
        let number = u32::try_from(ends.low.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
        let hash_of =
            |&number: &u32| hashing.hash_one(string_at(bytes, ends, number).unwrap_or(&[]));
        if let Some(numbers) = numbers.get_mut() {
            numbers.insert_unique(hash_of(&number), number, hash_of);
        }
        (number, true)
    }

    /// Reserves memory for a total of `count` short strings, if the allocator can provide it.
    pub fn reserve(&mut self, count: usize) {
        self.lookup_table();
        let Self { bytes, ends, numbers, hashing } = self;
        let more = count.saturating_sub(ends.low.len());
        // If this fails, the lists grow as they are filled.
        let _ends = ends.low.try_reserve_exact(more);
        let _bytes = bytes.try_reserve_exact(more.saturating_mul(ROOM_FOR_EACH));
        if let Some(numbers) = numbers.get_mut() {
            let hash_of =
                |&number: &u32| hashing.hash_one(string_at(bytes, ends, number).unwrap_or(&[]));
            let _numbers = numbers.try_reserve(more, hash_of);
        }
    }

    /// Frees the memory that only [`Self::insert`] and [`Self::find_number`] need. The next call of
    /// either takes longer.
    pub(crate) fn forget_numbers(&mut self) {
        self.numbers.take();
    }

    fn lookup_table(&self) -> &HashTable<u32> {
        self.numbers.get_or_init(|| {
            let hash_of = |&number: &u32| self.hashing.hash_one(self.get(number).unwrap_or(&[]));
            let mut numbers = HashTable::with_capacity(self.len());
            for number in 0..self.len() as u32 {
                numbers.insert_unique(hash_of(&number), number, hash_of);
            }
            numbers
        })
    }

    /// Returns the number of `text`, or `None` if it was not added.
    pub fn find_number(&self, text: &[u8]) -> Option<u32> {
        let is_text = |&number: &u32| self.get(number) == Some(text);
        self.lookup_table().find(self.hashing.hash_one(text), is_text).copied()
    }

    /// Returns the string with this number.
    pub fn get(&self, number: u32) -> Option<&[u8]> {
        string_at(&self.bytes, &self.ends, number)
    }

    /// Returns all strings in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).filter_map(|number| self.get(number))
    }

    /// Returns the number of strings.
    pub(crate) fn len(&self) -> usize {
        self.ends.low.len()
    }
}

/// The end offset of each string, of which `low` holds the lower 32 bits.
#[derive(Clone, Debug, Default)]
struct Ends {
    low: Vec<u32>,
    /// The numbers of the strings from which on the upper bits increase by one. It is nearly always
    /// empty.
    carries: Vec<u32>,
}

impl Ends {
    fn push(&mut self, end: usize) {
        let high = end >> u32::BITS;
        self.carries.resize(high, self.low.len() as u32);
        self.low.push(end as u32);
    }

    fn get(&self, number: usize) -> Option<usize> {
        let low = *self.low.get(number)? as usize;
        let high = self.carries.partition_point(|carry| *carry as usize <= number);
        Some(high << u32::BITS | low)
    }
}

fn string_at<'a>(bytes: &'a [u8], ends: &Ends, number: u32) -> Option<&'a [u8]> {
    let number = number as usize;
    let from = match number.checked_sub(1) {
        Some(before) => ends.get(before)?,
        None => 0,
    };
    bytes.get(from..ends.get(number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_right_beyond_32_bits() {
        let places = [7, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 5, (3 << 32) + 1, 3 << 33];
        let mut ends = Ends::default();
        places.iter().for_each(|place| ends.push(*place));
        let read: Vec<usize> = (0..places.len()).filter_map(|at| ends.get(at)).collect();
        assert_eq!(read, places);
    }

    #[test]
    fn string_keeps_the_number_that_it_was_given_first() {
        let mut interned = InternedBytes::default();
        let texts: Vec<String> = (0..1000).map(|n| format!("text {}", n % 500)).collect();
        for (at, text) in texts.iter().enumerate() {
            let expected = ((at % 500) as u32, at < 500);
            assert_eq!(interned.insert(text.as_bytes()), expected);
        }
        assert_eq!(interned.len(), 500);
        assert_eq!(interned.get(7), Some(&b"text 7"[..]));
        assert_eq!(
            (interned.find_number(b"text 499"), interned.find_number(b"text 500")),
            (Some(499), None)
        );
        assert_eq!(interned.get(500), None);
        interned.forget_numbers();
        assert_eq!(interned.find_number(b"text 499"), Some(499));
        interned.forget_numbers();
        assert_eq!(interned.insert(b""), (500, true));
        assert_eq!((interned.get(500), interned.find_number(b"")), (Some(&b""[..]), Some(500)));
    }
}
