//! The filter of calls to send again: those that the flags choose.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use crate::args::RerecordArgs;
use crate::args::duration::duration;
use loomrec_cli::amount::age;
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_recording::{Entry, EntryName};

/// With fewer digits, a hash could be a typing error.
const LEAST_DIGITS: usize = 4;

/// The criteria of the flags.
#[derive(Debug)]
pub(super) struct RerecordFilter {
    only: Vec<Only>,
    older_than: Option<Duration>,
    now: SystemTime,
    models: Vec<String>,
    /// The reason that pending calls must have, if any.
    reason: Option<&'static str>,
}

/// One `--only`, and the names that it matched.
#[derive(Debug)]
struct Only {
    given: String,
    base: String,
    take: Option<usize>,
    met: BTreeSet<String>,
}

impl RerecordFilter {
    /// Creates the filter of the flags. Ages count from `now`.
    ///
    /// # Errors
    /// An invalid age.
    pub(super) fn of(args: &RerecordArgs, now: SystemTime) -> Result<Self, CommandFailure> {
        let older_than = args.older_than.as_deref().map(duration).transpose();
        let older_than = older_than.map_err(|why| {
            let given = args.older_than.as_deref().unwrap_or_default();
            CommandFailure::usage(format!("--older-than {given}: {why}"))
        })?;
        Ok(Self {
            only: args.only.iter().map(|key| Only::of(key)).collect(),
            older_than,
            now,
            models: args.model.clone(),
            reason: args.drifted.is_some().then_some("drifted"),
        })
    }

    /// Whether a pending call with this reason may be chosen.
    pub(super) fn takes_reason(&self, reason: &str) -> bool {
        self.reason.is_none_or(|wanted| wanted == reason)
    }

    /// Whether this take is chosen.
    pub(super) fn takes(&mut self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        // All keys are checked, because each one must match something.
        let mut chosen = self.only.is_empty();
        for only in &mut self.only {
            chosen |= only.means(name, take, entry);
        }
        chosen && self.is_old(entry) && self.is_model(entry)
    }

    /// Whether a take was recorded long enough ago. A take without a time counts as old.
    fn is_old(&self, entry: &Entry) -> bool {
        let Some(least) = self.older_than else { return true };
        let time = entry.recorded_at.as_deref();
        time.and_then(|time| age(time, self.now)).is_none_or(|age| age >= least)
    }

    fn is_model(&self, entry: &Entry) -> bool {
        if self.models.is_empty() {
            return true;
        }
        let asked = entry.request.as_ref().and_then(|request| request.recognise().model);
        let named = |model: &String| self.models.contains(model);
        entry.model.as_ref().is_some_and(named) || asked.as_ref().is_some_and(named)
    }

    /// Checks that each key matched exactly one name.
    ///
    /// # Errors
    /// The first key that did not.
    pub(super) fn check(&self) -> Result<(), CommandFailure> {
        for only in &self.only {
            let key = &only.given;
            match only.met.len() {
                1 => {}
                0 if only.is_short() => {
                    return Err(CommandFailure::usage(format!(
                        "--only {key}: no step is called so, and a hash needs at least \
                         {LEAST_DIGITS} digits"
                    )));
                }
                0 => {
                    return Err(CommandFailure::new(
                        NO,
                        format!("--only {key}: there is no such call; see loomrec ls"),
                    ));
                }
                _ => {
                    let meant: Vec<&str> = only.met.iter().map(String::as_str).take(5).collect();
                    return Err(CommandFailure::usage(format!(
                        "--only {key} may mean any of {}: give more of it",
                        meant.join(", ")
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Only {
    fn of(key: &str) -> Self {
        let split = key.rsplit_once('#').and_then(|(base, number)| {
            let take: usize = number.parse().ok().filter(|take| *take > 0)?;
            Some((base.to_owned(), take))
        });
        let (base, take) = match split {
            Some((base, take)) => (base, Some(take)),
            None => (key.to_owned(), None),
        };
        Self { given: key.to_owned(), base, take, met: BTreeSet::new() }
    }

    fn is_short(&self) -> bool {
        self.base.len() < LEAST_DIGITS && self.base.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn means(&mut self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        // A step id may contain a `#` itself.
        if name.step_id() == Some(self.given.as_str()) {
            self.met.insert(name.to_string());
            return true;
        }
        if self.take.is_some_and(|wanted| wanted != take) {
            return false;
        }
        let exact = name.step_id() == Some(self.base.as_str());
        let hash = match name {
            EntryName::Hash(hash) => Some(hash),
            EntryName::Step(_) => entry.request_hash.as_ref(),
        };
        let digits = self.base.to_ascii_lowercase();
        let begins = digits.len() >= LEAST_DIGITS
            && hash.is_some_and(|hash| hash.as_str().starts_with(&digits));
        if exact || begins {
            self.met.insert(name.to_string());
        }
        exact || begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::RequestKey;

    #[test]
    fn key_means_a_step_a_hash_or_a_take() {
        let hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let key = RequestKey::parse(hash).unwrap();
        let entry = Entry { request_hash: Some(key.clone()), ..Entry::default() };
        let step = EntryName::step("plan").unwrap();
        let named = EntryName::Hash(key);
        let means = |text: &str, name: &EntryName, take| Only::of(text).means(name, take, &entry);
        assert!(means("plan", &step, 2) && means("plan#2", &step, 2) && means("0123", &step, 1));
        assert!(!means("plan#1", &step, 2) && !means("pla", &step, 1) && !means("012", &named, 1));
        assert!(means("0123ABCD".get(..4).unwrap(), &named, 3) && means(hash, &named, 1));
        assert!(means("plan#2", &EntryName::step("plan#2").unwrap(), 1));
    }
}
