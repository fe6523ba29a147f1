//! The filter of calls to send again: those that the command line chooses.

use std::collections::BTreeSet;

use crate::args::RerecordArgs;
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_recording::{Entry, EntryName};

/// With fewer digits, a hash could be a typing error.
const LEAST_DIGITS: usize = 4;

/// The criteria of the command line.
#[derive(Debug)]
pub(super) struct RerecordFilter {
    keys: Vec<GivenKey>,
    models: Vec<String>,
    /// The reason that pending calls must have, if any.
    reason: Option<&'static str>,
}

/// A key, and the names that it matched.
#[derive(Debug)]
struct GivenKey {
    text: String,
    base: String,
    take: Option<usize>,
    met: BTreeSet<String>,
}

impl RerecordFilter {
    /// Creates the filter of the command line.
    pub(super) fn from_args(args: &RerecordArgs) -> Self {
        Self {
            keys: args.keys.iter().map(|key| GivenKey::from_text(key)).collect(),
            models: args.model.clone(),
            reason: args.drifted.is_some().then_some("drifted"),
        }
    }

    /// Whether a pending call with this reason may be chosen.
    pub(super) fn takes_reason(&self, reason: &str) -> bool {
        self.reason.is_none_or(|wanted| wanted == reason)
    }

    /// Whether this take is chosen.
    pub(super) fn is_match(&mut self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        // All keys are checked, because each one must match something.
        let mut chosen = self.keys.is_empty();
        for key in &mut self.keys {
            chosen |= key.is_match(name, take, entry);
        }
        chosen && self.is_model(entry)
    }

    fn is_model(&self, entry: &Entry) -> bool {
        if self.models.is_empty() {
            return true;
        }
        let asked = entry.recognise_call().and_then(|call| call.model);
        let named = |model: &String| self.models.contains(model);
        entry.model.as_ref().is_some_and(named) || asked.as_ref().is_some_and(named)
    }

    /// Checks that each key matched exactly one name.
    ///
    /// # Errors
    /// The first key that did not.
    pub(super) fn check_keys(&self) -> Result<(), CommandFailure> {
        for given in &self.keys {
            let key = &given.text;
            match given.met.len() {
                1 => {}
                0 if given.is_short() => {
                    return Err(CommandFailure::usage(format!(
                        "{key}: no step is called so, and a hash needs at least \
                         {LEAST_DIGITS} digits"
                    )));
                }
                0 => {
                    return Err(CommandFailure::new(
                        NO,
                        format!("{key}: there is no such call; see loomrec ls"),
                    ));
                }
                _ => {
                    let meant: Vec<&str> = given.met.iter().map(String::as_str).take(5).collect();
                    return Err(CommandFailure::usage(format!(
                        "{key} may mean any of {}: give more of it",
                        meant.join(", ")
                    )));
                }
            }
        }
        Ok(())
    }
}

impl GivenKey {
    fn from_text(key: &str) -> Self {
        let split = key.rsplit_once('#').and_then(|(base, number)| {
            let take: usize = number.parse().ok().filter(|take| *take > 0)?;
            Some((base.to_owned(), take))
        });
        let (base, take) = match split {
            Some((base, take)) => (base, Some(take)),
            None => (key.to_owned(), None),
        };
        Self { text: key.to_owned(), base, take, met: BTreeSet::new() }
    }

    fn is_short(&self) -> bool {
        self.base.len() < LEAST_DIGITS && self.base.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn is_match(&mut self, name: &EntryName, take: usize, entry: &Entry) -> bool {
        // A step id may contain a `#` itself.
        if name.step_id() == Some(self.text.as_str()) {
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
        let step = EntryName::from_step_id("plan").unwrap();
        let named = EntryName::Hash(key);
        let means = |text: &str, name: &EntryName, take| {
            GivenKey::from_text(text).is_match(name, take, &entry)
        };
        assert!(means("plan", &step, 2) && means("plan#2", &step, 2) && means("0123", &step, 1));
        assert!(!means("plan#1", &step, 2) && !means("pla", &step, 1) && !means("012", &named, 1));
        assert!(means("0123ABCD".get(..4).unwrap(), &named, 3) && means(hash, &named, 1));
        assert!(means("plan#2", &EntryName::from_step_id("plan#2").unwrap(), 1));
    }
}
