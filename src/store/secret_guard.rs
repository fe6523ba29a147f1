//! The credentials of a run, and the last search of an entry before it is written.
//!
//! A credential that is used again (an API key) is watched as long as it is in use, so that no
//! entry of another request can hold it either. A credential that is used once (a signature) is
//! searched for in its own exchange only. Otherwise each call would make the next one slower.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loomrec_recording::redact::{CallCredentials, is_clean, is_still_clean};

/// The most credentials that are watched. The one that was used longest ago is dropped.
const LASTING: usize = 256;

/// The most credentials that are remembered as seen once.
const ONCE: usize = 256;

/// The credentials of a run, for any number of threads.
#[derive(Debug, Default)]
pub(super) struct SecretGuard(Mutex<SeenCredentials>);

/// What is known about them.
#[derive(Debug, Default)]
struct SeenCredentials {
    /// Shared, so that several entries can be searched at the same time.
    lasting: Arc<CallCredentials>,
    /// The turn in which each of them was used last.
    turns: HashMap<String, u64>,
    turn: u64,
    /// Hashes of credentials that were seen once, the oldest first.
    once: VecDeque<u64>,
    hasher: RandomState,
}

impl SecretGuard {
    /// Searches every entry for these credentials from now on.
    pub(super) fn watch_for(&self, secrets: &CallCredentials) {
        let mut known = self.lock_known();
        known.turn += 1;
        for value in secrets.values() {
            known.promote(value);
        }
    }

    /// Whether an entry, packed as it will be written, holds none of the run's credentials and none
    /// of its own request's.
    pub(super) fn is_clean(&self, packed: &[u8], own: &CallCredentials) -> bool {
        let (covered, lasting) = self.lock_known().note_use(own);
        if lasting.is_empty() && own.is_empty() {
            return true;
        }
        // The entry was redacted for its own credentials part by part. Those of others are searched
        // in full.
        let has_others = lasting.values().count() > own.values().count();
        if covered && !has_others {
            return is_still_clean(packed, own);
        }
        is_clean(packed, &lasting) && (covered || is_still_clean(packed, own))
    }

    fn lock_known(&self) -> MutexGuard<'_, SeenCredentials> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenCredentials {
    /// Notes the use of a request's credentials. Returns whether all of them are watched, and all
    /// watched ones.
    fn note_use(&mut self, own: &CallCredentials) -> (bool, Arc<CallCredentials>) {
        self.turn += 1;
        let mut covered = true;
        for value in own.values() {
            if let Some(turn) = self.turns.get_mut(value) {
                *turn = self.turn;
                continue;
            }
            let hash = self.hasher.hash_one(value);
            if self.once.contains(&hash) {
                self.promote(value);
                continue;
            }
            covered = false;
            self.once.push_back(hash);
            if self.once.len() > ONCE {
                self.once.pop_front();
            }
        }
        (covered, Arc::clone(&self.lasting))
    }

    fn promote(&mut self, value: &str) {
        let turn = self.turn;
        if self.turns.insert(value.to_owned(), turn).is_some() {
            return;
        }
        if self.turns.len() <= LASTING {
            Arc::make_mut(&mut self.lasting).extend(&CallCredentials::of_value(value));
            return;
        }
        let oldest = self.turns.iter().min_by_key(|(_, turn)| **turn);
        if let Some(oldest) = oldest.map(|(value, _)| value.clone()) {
            self.turns.remove(&oldest);
        }
        let mut lasting = CallCredentials::default();
        for value in self.turns.keys() {
            lasting.extend(&CallCredentials::of_value(value));
        }
        self.lasting = Arc::new(lasting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: &str) -> CallCredentials {
        CallCredentials::for_known_provider(&[("x-api-key".to_owned(), value.to_owned())], "")
    }

    fn is_clean(guard: &SecretGuard, text: &str, own: &CallCredentials) -> bool {
        guard.is_clean(text.as_bytes(), own)
    }

    #[test]
    fn key_that_came_twice_is_looked_for_in_every_entry() {
        let guard = SecretGuard::default();
        let none = CallCredentials::default();
        let canary = key("canary-key-42");
        assert!(is_clean(&guard, "canary-key-42", &none));
        assert!(!is_clean(&guard, "my canary-key-42", &canary));
        assert!(is_clean(&guard, "canary-key-42", &none), "seen once");
        assert!(is_clean(&guard, "other", &canary));
        assert!(!is_clean(&guard, "canary-key-42", &none));
        assert!(!is_clean(&guard, "Y2FuYXJ5LWtleS00Mg", &none), "as base64");
    }

    #[test]
    fn credentials_used_once_do_not_pile_up_and_the_lasting_ones_stay() {
        let guard = SecretGuard::default();
        guard.watch_for(&key("the-lasting-key"));
        for n in 0..600 {
            let mut own = key(&format!("signature-{n:06}"));
            assert!(!is_clean(&guard, &format!("x signature-{n:06}"), &own));
            own.extend(&key("the-lasting-key"));
            assert!(is_clean(&guard, "fine", &key(&format!("unique-{n:06}"))));
            assert!(!is_clean(&guard, "the-lasting-key", &own));
        }
        {
            let known = guard.lock_known();
            assert!(known.turns.len() <= LASTING && known.once.len() <= ONCE);
            assert!(known.lasting.values().count() <= LASTING);
        }
        assert!(!is_clean(&guard, "the-lasting-key", &CallCredentials::default()));
    }

    #[test]
    fn key_beyond_ascii_is_found_as_the_log_spells_it() {
        let guard = SecretGuard::default();
        guard.watch_for(&key("clé-très-secrète"));
        let none = CallCredentials::default();
        assert!(!guard.is_clean("clé-très-secrète".as_bytes(), &none));
        assert!(!guard.is_clean(b"cl\\u00e9-tr\\u00e8s-secr\\u00e8te", &none));
    }
}
