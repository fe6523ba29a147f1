//! Headers that became part of keys after a recording was made.
//!
//! The version that recorded such a call kept the name of the header and not its value. The call is
//! found without the header then, and the terms of the replay name it.

use super::loaded_takes::LoadedTakes;
use loomrec_recording::Entry;

/// The most sets of such headers. A request has a key for each.
const MOST: usize = 8;

impl LoadedTakes {
    /// Returns the rules for an entry of a source, as an index: those at `effective`, without the
    /// headers whose values were not stored with it.
    pub(super) fn rules_for(&mut self, source: usize, entry: &Entry, effective: usize) -> usize {
        let rules = &self.rules[effective];
        let is_ignored = |name: &str| rules.ignored_headers().iter().any(|it| it == name);
        let names = entry.headers_of_later_keys().filter(|name| !is_ignored(name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() {
            return effective;
        }
        let without = rules.with_headers(&[], &names);
        let set = (source, names);
        if !self.not_stored.contains(&set) {
            if self.not_stored.len() >= MOST {
                return effective;
            }
            self.not_stored.push(set);
        }
        self.rule_index(&without)
    }

    /// Returns the headers that are not compared with entries of a source.
    pub(super) fn not_stored_in(&self, source: usize) -> Vec<String> {
        let sets = self.not_stored.iter().filter(|(of, _)| *of == source);
        sets.flat_map(|(_, names)| names.iter().cloned()).collect()
    }
}
