//! The names of the variables with API keys that recorded programs had. Never their values.

use std::collections::BTreeSet;

use loomrec_provider::directory;

/// Names of variables from which the SDKs of known upstreams read a key. All other names are left
/// out, because a recording may come from a stranger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyVariables(BTreeSet<&'static str>);

impl KeyVariables {
    /// Returns the known names that `is_set` holds for.
    pub fn set_in(is_set: impl Fn(&str) -> bool) -> Self {
        directory::key_variables().filter(|name| is_set(name)).collect()
    }

    /// Returns those of these names that are known.
    pub fn known_among<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |name: &str| directory::key_variables().find(|known| *known == name);
        names.into_iter().filter_map(known).collect()
    }

    /// Returns the names in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().copied()
    }

    /// Whether it holds no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of these names are in `other`, too.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Adds names.
    pub fn add(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }
}

impl FromIterator<&'static str> for KeyVariables {
    fn from_iter<I: IntoIterator<Item = &'static str>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_count_whoever_states_them() {
        let stated = KeyVariables::known_among(["PATH", "OPENAI_API_KEY", "openai_api_key", ""]);
        assert_eq!(stated.iter().collect::<Vec<_>>(), ["OPENAI_API_KEY"]);
        let set = KeyVariables::set_in(|name| name.starts_with('G'));
        assert!(set.iter().all(|name| name.starts_with('G')) && !set.is_empty());
        let mut both = stated.clone();
        both.add(&set);
        assert!(stated.is_within(&both) && set.is_within(&both) && !both.is_within(&set));
        assert!(both.iter().is_sorted());
    }
}
