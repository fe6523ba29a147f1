//! Merging the metadata of recordings.

use std::collections::BTreeSet;

use loomrec_recording::RecordingMeta;
use serde_json::{Map, Value};

/// Keys with a meaning. They are taken from the first recording. Its rules
/// are handled separately, and the key variables of recorded programs are those of both.
const OWN: [&str; 2] = ["_version", "_loomrec"];

/// Merges the other `_` keys of two recordings against their common base. Returns the merged keys,
/// and the names of those that both changed differently, which are taken from `ours`.
pub fn merge_keys(
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> (Map<String, Value>, Vec<String>) {
    let mut merged = ours.clone();
    let mut conflicts = Vec::new();
    let names = theirs.keys().chain(ours.keys().filter(|name| !theirs.contains_key(*name)));
    for name in names.filter(|name| !OWN.contains(&name.as_str())) {
        let [was, our, their] = [base, ours, theirs].map(|keys| keys.get(name));
        match their {
            _ if our == their || their == was => {}
            Some(value) if our == was => {
                merged.insert(name.clone(), value.clone());
            }
            None if our == was => {
                merged.shift_remove(name);
            }
            _ => conflicts.push(name.clone()),
        }
    }
    let variables = key_variables(base, ours, theirs);
    if variables != RecordingMeta::stated_key_variables(ours) {
        RecordingMeta::state_key_variables(&mut merged, &variables);
    }
    (merged, conflicts)
}

/// Merges the names of the key variables that recorded programs had: those of both sides, without
/// those that a side has removed.
fn key_variables(
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> BTreeSet<String> {
    let [was, our, their] = [base, ours, theirs].map(RecordingMeta::stated_key_variables);
    let is_kept =
        |name: &&String| !was.contains(*name) || (our.contains(*name) && their.contains(*name));
    our.union(&their).filter(is_kept).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn key_is_as_the_side_has_it_that_changed_it() {
        let base = map(r#"{"_version": 2, "_a": 1, "_b": 1, "_gone": 1, "_c": 1}"#);
        let ours = map(r#"{"_version": 2, "_a": 2, "_b": 1, "_gone": 1, "_c": 2, "_x": 1}"#);
        let theirs = map(r#"{"_version": 3, "_a": 1, "_b": 2, "_c": 3, "_y": 1}"#);
        let (merged, conflicts) = merge_keys(&base, &ours, &theirs);
        let wanted = map(r#"{"_version": 2, "_a": 2, "_b": 2, "_c": 2, "_x": 1, "_y": 1}"#);
        assert_eq!((merged, conflicts), (wanted, vec!["_c".to_owned()]));
    }

    #[test]
    fn key_variables_are_those_of_both_sides_without_removed_ones() {
        let stating = |names: &[&str]| {
            map(&serde_json::json!({ "_loomrec": { "key_variables": names } }).to_string())
        };
        let merged = |base: &[&str], ours: &[&str], theirs: &[&str]| {
            let (merged, _) = merge_keys(&stating(base), &stating(ours), &stating(theirs));
            RecordingMeta::stated_key_variables(&merged).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(merged(&[], &["B"], &["A", "B"]), ["A", "B"]);
        assert_eq!(merged(&["A", "B"], &["A", "B"], &["B", "C"]), ["B", "C"]);
        assert_eq!(merged(&["A"], &[], &["A"]), [""; 0]);
        let (merged, _) = merge_keys(&Map::new(), &map("{}"), &stating(&["A"]));
        assert_eq!(merged, Map::new());
    }

    #[test]
    fn keys_of_both_stay_when_nothing_is_known_of_where_they_come_from() {
        let none = Map::new();
        let (merged, conflicts) = merge_keys(&none, &map(r#"{"_a": 1}"#), &map(r#"{"_b": 1}"#));
        assert_eq!((merged, conflicts), (map(r#"{"_a": 1, "_b": 1}"#), Vec::new()));
    }
}
