//! The names of a recording, each stored once in a compact form.

use super::entry_name::EntryName;
use super::interned::InternedBytes;
use loomrec_identity::RequestKey;

/// The first byte of a stored hash. No UTF-8 text contains this byte.
const HASH: u8 = 0xff;

/// A set of names, numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct NameSet(InternedBytes);

impl NameSet {
    /// Returns the number of a name, and whether this call added it.
    pub fn insert(&mut self, name: &EntryName) -> (u32, bool) {
        with_bytes(name, |bytes| self.0.insert(bytes))
    }

    /// Returns the number of a name, or `None` if it was not added.
    pub fn find_number(&self, name: &EntryName) -> Option<u32> {
        with_bytes(name, |bytes| self.0.find_number(bytes))
    }

    /// Reserves memory for a total of `count` names.
    pub fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// Frees the memory that only [`Self::insert`] and [`Self::find_number`] need.
    pub fn forget_numbers(&mut self) {
        self.0.forget_numbers();
    }

    /// Returns the name with this number.
    pub fn get(&self, number: u32) -> Option<EntryName> {
        let bytes = self.0.get(number)?;
        match bytes.split_first() {
            Some((&HASH, digest)) => {
                Some(EntryName::Hash(RequestKey::from_bytes(digest.try_into().ok()?)))
            }
            _ => Some(EntryName::Step(String::from_utf8_lossy(bytes).into_owned())),
        }
    }

    /// Whether the name with this number is a step id.
    pub fn is_step(&self, number: u32) -> bool {
        self.0.get(number).is_some_and(|bytes| bytes.first() != Some(&HASH))
    }

    /// Returns the number of names.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

fn with_bytes<T>(name: &EntryName, then: impl FnOnce(&[u8]) -> T) -> T {
    match name {
        EntryName::Step(id) => then(id.as_bytes()),
        EntryName::Hash(key) => {
            let mut bytes = [HASH; 33];
            bytes[1..].copy_from_slice(&key.to_bytes());
            then(&bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_comes_back_as_it_was_added() {
        let mut names = NameSet::default();
        let hash = |digit: &str| EntryName::Hash(RequestKey::parse(&digit.repeat(64)).unwrap());
        let step = |id: &str| EntryName::Step(id.to_owned());
        let all = [hash("a"), step("a"), hash("0"), step(""), step("é"), step(&"f".repeat(65))];
        for (at, name) in all.iter().enumerate() {
            assert_eq!(names.insert(name), (at as u32, true));
        }
        for (at, name) in all.iter().enumerate() {
            assert_eq!(
                (names.insert(name), names.find_number(name)),
                ((at as u32, false), Some(at as u32))
            );
            assert_eq!(names.get(at as u32).as_ref(), Some(name));
            assert_eq!(names.is_step(at as u32), name.step_id().is_some());
        }
        assert_eq!((names.count(), names.get(6)), (6, None));
    }
}
