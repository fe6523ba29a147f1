//! Histories of calls: how often each key was called, and which rules applied to it.
//!
//! The histories are split into shards with a lock each, so that calls of different keys do not
//! wait for one another. Their number is bounded: the key that was called least recently is
//! forgotten first, and its next call counts as its first.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use lru::LruCache;

use super::call_attempt::AttemptChange;
use super::call_key::CallKey;

/// How many shards there are.
const SHARDS: usize = 16;
/// How many keys one shard remembers.
const KEYS_PER_SHARD: usize = 16 << 10;

/// Which call of a key a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNumbers {
    /// Which call, from 1.
    pub call: u64,
    /// Which attempt since the key was last answered well, from 1.
    pub attempt: u64,
}

/// What happened to the calls of one key.
#[derive(Debug, Default)]
pub(super) struct CallHistory {
    /// Calls so far.
    pub(super) calls: u64,
    /// Calls since one was answered well.
    pub(super) attempts: u64,
    /// The attempts before the last reset.
    before_reset: u64,
    /// The key of the step that the last call of this key was in.
    pub(super) step: Option<CallKey>,
    /// How often each rule applied.
    pub(super) fires: BTreeMap<Arc<str>, u32>,
}

impl CallHistory {
    /// Counts a call. Returns its numbers.
    pub(super) fn count_call(&mut self) -> CallNumbers {
        self.calls += 1;
        self.attempts += 1;
        CallNumbers { call: self.calls, attempt: self.attempts }
    }

    /// Changes the attempts of a key.
    pub(super) fn change_attempts(&mut self, change: AttemptChange) {
        match change {
            AttemptChange::Reset => self.before_reset = std::mem::take(&mut self.attempts),
            AttemptChange::Restore(attempt) => self.attempts = self.attempts.max(attempt),
        }
    }

    /// Changes the attempts of a step, whose calls have numbers of their own.
    pub(super) fn change_step_attempts(&mut self, change: AttemptChange) {
        self.change_attempts(match change {
            AttemptChange::Reset => change,
            AttemptChange::Restore(_) => AttemptChange::Restore(self.before_reset),
        });
    }
}

/// The histories of some keys.
#[derive(Debug)]
pub(super) struct HistoryShard(LruCache<CallKey, CallHistory>);

impl HistoryShard {
    /// Returns the history of a key, and creates it if there is none. Then the shard may forget
    /// another key.
    pub(super) fn get_or_insert(&mut self, key: &CallKey) -> &mut CallHistory {
        if self.0.len() >= KEYS_PER_SHARD && !self.0.contains(key) {
            self.0.pop_lru();
        }
        self.0.get_or_insert_mut_ref(key, CallHistory::default)
    }

    /// The history of a key that was called before.
    pub(super) fn find_history(&mut self, key: &CallKey) -> Option<&mut CallHistory> {
        self.0.get_mut(key)
    }

    fn forget_calls(&mut self, session: Option<&str>) {
        let Some(session) = session else { return self.0.clear() };
        let keys = self.0.iter().map(|(key, _)| key);
        let of_session = keys.filter(|key| key.session() == Some(session));
        let of_session: Vec<CallKey> = of_session.cloned().collect();
        of_session.iter().for_each(|key| drop(self.0.pop(key)));
    }
}

/// The histories of all keys.
#[derive(Debug)]
pub(super) struct CallHistories([Mutex<HistoryShard>; SHARDS]);

impl Default for CallHistories {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(HistoryShard(LruCache::unbounded()))))
    }
}

impl CallHistories {
    /// The shard that holds the history of a key.
    pub(super) fn lock_shard(&self, key: &CallKey) -> MutexGuard<'_, HistoryShard> {
        let shard = FixedState::default().hash_one(key) as usize % SHARDS;
        self.0[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all calls so far, of one session or of all.
    pub(super) fn forget_calls(&self, session: Option<&str>) {
        for shard in &self.0 {
            shard.lock().unwrap_or_else(PoisonError::into_inner).forget_calls(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::RequestKey;

    fn key(number: usize, session: Option<&str>) -> CallKey {
        CallKey::Request {
            session: session.map(str::to_owned),
            request: RequestKey::parse(&format!("{number:064x}")).unwrap(),
            upstream: "openai".to_owned(),
            step: None,
        }
    }

    fn held(histories: &CallHistories) -> usize {
        histories.0.iter().map(|shard| shard.lock().unwrap().0.len()).sum()
    }

    #[test]
    fn histories_are_bounded_and_the_key_called_least_recently_is_forgotten_first() {
        let histories = CallHistories::default();
        let often = key(0, None);
        for number in 0..2 * SHARDS * KEYS_PER_SHARD {
            let other = key(number + 1, None);
            histories.lock_shard(&other).get_or_insert(&other).calls += 1;
            histories.lock_shard(&often).get_or_insert(&often).calls += 1;
        }
        assert!(held(&histories) <= SHARDS * KEYS_PER_SHARD, "{}", held(&histories));
        let calls = histories.lock_shard(&often).get_or_insert(&often).calls;
        assert_eq!(calls as usize, 2 * SHARDS * KEYS_PER_SHARD);
        let first = key(1, None);
        assert!(histories.lock_shard(&first).find_history(&first).is_none());
    }

    #[test]
    fn one_session_is_forgotten_without_the_others() {
        let histories = CallHistories::default();
        let keys = [key(1, None), key(1, Some("a")), key(2, Some("a")), key(1, Some("b"))];
        keys.iter().for_each(|key| histories.lock_shard(key).get_or_insert(key).calls += 1);
        histories.forget_calls(Some("a"));
        let known =
            keys.each_ref().map(|key| histories.lock_shard(key).find_history(key).is_some());
        assert_eq!(known, [true, false, false, true]);
        histories.forget_calls(None);
        assert_eq!(held(&histories), 0);
    }
}
