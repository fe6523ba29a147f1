//! Interned byte strings: each is kept once, all of them in one piece of memory, and has
//! a number.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// A set of byte strings, numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interned {
    bytes: Vec<u8>,
    /// Where each string ends in `bytes`.
    ends: Vec<u64>,
    numbers: HashTable<u32>,
    hashing: RandomState,
}

impl Interned {
    /// The number of `text`, and whether it was added just now.
    pub(crate) fn insert(&mut self, text: &[u8]) -> (u32, bool) {
        let hash = self.hashing.hash_one(text);
        let Self { bytes, ends, numbers, hashing } = self;
        let is_text = |&number: &u32| slice(bytes, ends, number) == Some(text);
        if let Some(&number) = numbers.find(hash, is_text) {
            return (number, false);
        }
        let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(text);
        ends.push(bytes.len() as u64);
        let hash_of = |&number: &u32| hashing.hash_one(slice(bytes, ends, number).unwrap_or(&[]));
        numbers.insert_unique(hash, number, hash_of);
        (number, true)
    }

    /// The number of `text`, if it is here.
    pub(crate) fn find(&self, text: &[u8]) -> Option<u32> {
        let is_text = |&number: &u32| self.get(number) == Some(text);
        self.numbers.find(self.hashing.hash_one(text), is_text).copied()
    }

    /// The string of a number.
    pub(crate) fn get(&self, number: u32) -> Option<&[u8]> {
        slice(&self.bytes, &self.ends, number)
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[u64], number: u32) -> Option<&'a [u8]> {
    let number = number as usize;
    let place = |end: u64| usize::try_from(end).unwrap_or(usize::MAX);
    let from = match number.checked_sub(1) {
        Some(before) => place(*ends.get(before)?),
        None => 0,
    };
    bytes.get(from..place(*ends.get(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_keeps_the_number_that_it_was_given_first() {
        let mut interned = Interned::default();
        let texts: Vec<String> = (0..1000).map(|n| format!("text {}", n % 500)).collect();
        for (at, text) in texts.iter().enumerate() {
            let expected = ((at % 500) as u32, at < 500);
            assert_eq!(interned.insert(text.as_bytes()), expected);
        }
        assert_eq!(interned.len(), 500);
        assert_eq!(interned.get(7), Some(&b"text 7"[..]));
        assert_eq!((interned.find(b"text 499"), interned.find(b"text 500")), (Some(499), None));
        assert_eq!(interned.get(500), None);
        assert_eq!(interned.insert(b""), (500, true));
        assert_eq!((interned.get(500), interned.find(b"")), (Some(&b""[..]), Some(500)));
    }
}
