//! Groups: takes that answer the same request, and how far each session has come in them.
//!
//! Most groups have one take, and a recording may have a million groups. Such a group takes 32
//! bytes until its first call.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::name_ids::NameId;
use super::pool::SessionCursor;
use loomrec_identity::RequestKey;

/// Takes that answer the same request.
#[derive(Debug)]
pub(super) struct TakeGroup {
    first: u32,
    /// Present in groups of several takes only.
    several: Option<Box<SeveralTakes>>,
    /// Made by the first call.
    progress: Mutex<Option<Box<SessionCursors>>>,
}

#[derive(Debug)]
struct SeveralTakes {
    takes: Vec<u32>,
    /// By session, the positions of the takes that were recorded in it.
    own: BTreeMap<NameId, Vec<u32>>,
}

/// How far each session has come in the takes of one key.
#[derive(Debug, Default)]
struct SessionCursors {
    unnamed: SessionCursor,
    named: BTreeMap<String, SessionCursor>,
}

impl TakeGroup {
    /// Returns a group of one take.
    pub(super) fn new(take: u32) -> Self {
        Self { first: take, several: None, progress: Mutex::default() }
    }

    /// Returns its takes, in order.
    pub(super) fn takes(&self) -> &[u32] {
        match &self.several {
            Some(several) => &several.takes,
            None => std::slice::from_ref(&self.first),
        }
    }

    /// Returns the position of a take in the group. Takes are added in the order of their numbers.
    pub(super) fn position_of(&self, take: u32) -> Option<u32> {
        self.takes().binary_search(&take).ok().map(|position| position as u32)
    }

    /// Adds a take. `session_of` returns the session that a take was recorded in.
    pub(super) fn push(&mut self, take: u32, session_of: impl Fn(u32) -> Option<NameId>) {
        let first = self.first;
        let several = self.several.get_or_insert_with(|| {
            let own = session_of(first).map(|session| (session, vec![0]));
            Box::new(SeveralTakes { takes: vec![first], own: own.into_iter().collect() })
        });
        let position = several.takes.len() as u32;
        several.takes.push(take);
        if let Some(session) = session_of(take) {
            several.own.entry(session).or_default().push(position);
        }
    }

    /// Returns the positions of the takes that were recorded in a session.
    pub(super) fn session_positions(
        &self,
        session: NameId,
        session_of: impl Fn(u32) -> Option<NameId>,
    ) -> &[u32] {
        match &self.several {
            Some(several) => several.own.get(&session).map_or(&[], Vec::as_slice),
            None if session_of(self.first) == Some(session) => &[0],
            None => &[],
        }
    }

    /// Runs `then` on the cursor of a session.
    pub(super) fn with_progress<T>(
        &self,
        session: Option<&str>,
        then: impl FnOnce(&mut SessionCursor) -> T,
    ) -> T {
        let mut sessions = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = sessions.get_or_insert_default();
        match session {
            None => then(&mut sessions.unnamed),
            Some(name) => then(sessions.named.entry(name.to_owned()).or_default()),
        }
    }

    /// Starts over, for one session or for all.
    pub(super) fn reset(&self, session: Option<&str>) {
        let mut sessions = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match (session, sessions.as_mut()) {
            (None, _) => *sessions = None,
            (Some(name), Some(sessions)) => drop(sessions.named.remove(name)),
            (Some(_), None) => {}
        }
    }
}

/// Groups by the key of their requests, and by the rules that the key is made under.
#[derive(Debug, Default)]
pub(super) struct KeyedGroups {
    groups: Vec<KeyedTakes>,
    /// Indexes into `groups`, by their hash.
    numbers: HashTable<u32>,
    hashing: RandomState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyedTakes {
    key: [u8; 32],
    rules: u32,
    group: u32,
}

impl KeyedGroups {
    /// Makes room for `count` groups. The memory is not touched before they are added.
    pub(super) fn reserve(&mut self, count: usize) {
        self.groups.reserve_exact(count);
    }

    /// Returns the group of a key, and whether it is new. `new` makes it.
    pub(super) fn find_or(
        &mut self,
        (rules, key): &(usize, RequestKey),
        new: impl FnOnce() -> u32,
    ) -> (u32, bool) {
        if let Some(group) = self.find(*rules, key) {
            return (group, false);
        }
        let (number, rules) = (self.groups.len() as u32, *rules as u32);
        let keyed = KeyedTakes { key: key.to_bytes(), rules, group: new() };
        self.groups.push(keyed);
        let Self { groups, numbers, hashing } = self;
        let hash = |keyed: &KeyedTakes| hashing.hash_one((keyed.key, keyed.rules));
        let of = |&number: &u32| groups.get(number as usize).map_or(0, hash);
        numbers.insert_unique(hash(&keyed), number, of);
        (keyed.group, true)
    }

    /// Returns the group of a key.
    pub(super) fn find(&self, rules: usize, key: &RequestKey) -> Option<u32> {
        let (key, rules) = (key.to_bytes(), rules as u32);
        let keyed = |number: u32| self.groups.get(number as usize);
        let is_it = |&number: &u32| keyed(number).is_some_and(|k| (k.key, k.rules) == (key, rules));
        let number = self.numbers.find(self.hashing.hash_one((key, rules)), is_it)?;
        keyed(*number).map(|keyed| keyed.group)
    }

    /// Returns the key of a group. `None` for a group without one.
    pub(super) fn key_of(&self, group: u32) -> Option<RequestKey> {
        // Groups are added in the order of their numbers.
        let at = self.groups.binary_search_by_key(&group, |keyed| keyed.group).ok()?;
        Some(RequestKey::from_bytes(&self.groups.get(at)?.key))
    }

    /// Returns the keys of all groups.
    pub(super) fn keys(&self) -> impl Iterator<Item = RequestKey> {
        self.groups.iter().map(|keyed| RequestKey::from_bytes(&keyed.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_of_one_take_is_small() {
        assert_eq!((size_of::<TakeGroup>(), size_of::<KeyedTakes>()), (32, 40));
    }

    #[test]
    fn group_knows_the_takes_of_each_session() {
        let id = |number| NameId::new(number).unwrap();
        let session_of = |take: u32| (take % 2 == 1).then(|| id(take));
        let mut group = TakeGroup::new(3);
        assert_eq!(
            (group.takes(), group.session_positions(id(3), session_of)),
            (&[3][..], &[0][..])
        );
        assert_eq!(group.session_positions(id(4), session_of), &[0; 0]);
        group.push(4, session_of);
        group.push(5, session_of);
        assert_eq!(group.takes(), [3, 4, 5]);
        assert_eq!((group.position_of(5), group.position_of(6)), (Some(2), None));
        assert_eq!(
            (
                group.session_positions(id(3), session_of),
                group.session_positions(id(5), session_of)
            ),
            (&[0][..], &[2][..])
        );
    }

    #[test]
    fn group_is_found_by_its_key_and_rules() {
        let key = |at: u32| RequestKey::parse(&format!("{at:064x}")).unwrap();
        let mut groups = KeyedGroups::default();
        for at in 0..1000 {
            assert_eq!(groups.find_or(&(0, key(at)), || at), (at, true));
        }
        assert_eq!(groups.find_or(&(1, key(7)), || 5000), (5000, true));
        assert_eq!(groups.find_or(&(0, key(7)), || 6000), (7, false));
        assert_eq!((groups.find(0, &key(999)), groups.find(1, &key(8))), (Some(999), None));
        assert_eq!(groups.keys().nth(3), Some(key(3)));
        assert_eq!((groups.key_of(3), groups.key_of(5000)), (Some(key(3)), Some(key(7))));
    }
}
