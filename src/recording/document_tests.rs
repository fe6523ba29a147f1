use super::*;
use loomrec_identity::RequestKey;

fn step(id: &str) -> EntryName {
    EntryName::from_step_id(id).unwrap()
}

fn entry(content: &str, at: &str) -> Entry {
    Entry {
        content: Some(content.to_owned()),
        recorded_at: (!at.is_empty()).then(|| at.to_owned()),
        ..Entry::default()
    }
}

fn contents(cassette: &RecordingDocument) -> Vec<String> {
    cassette
        .entries()
        .map(|(name, take, entry)| {
            let content = entry.content.as_deref().unwrap_or_default();
            format!("{}={content}", name.take_key(take))
        })
        .collect()
}

#[test]
fn first_of_a_run_replaces_the_takes_where_they_stand() {
    let mut cassette = RecordingDocument::default();
    cassette.record_take(step("a"), entry("1", "t1"), true);
    cassette.record_take(step("b"), entry("2", "t2"), true);
    cassette.record_take(step("a"), entry("3", "t3"), false);
    assert_eq!(contents(&cassette), ["a=1", "a#2=3", "b=2"]);
    cassette.record_take(step("a"), entry("4", "t4"), true);
    assert_eq!(contents(&cassette), ["a=4", "b=2"]);
}

#[test]
fn later_entries_take_their_places_by_time_and_the_same_is_kept_once() {
    let mut cassette = RecordingDocument::default();
    for (content, at) in
        [("3", "t3"), ("1", "t1"), ("2", "t2"), ("2", "t2"), ("2b", "t2"), ("x", ""), ("x", "")]
    {
        cassette.record_take(step("a"), entry(content, at), false);
    }
    assert_eq!(contents(&cassette), ["a=1", "a#2=2", "a#3=2b", "a#4=3", "a#5=x", "a#6=x"]);
}

#[test]
fn merging_twice_changes_nothing() {
    let hash = EntryName::Hash(RequestKey::parse(&"a".repeat(64)).unwrap());
    let mut other = RecordingDocument::default();
    for (content, at) in [("x", ""), ("x", ""), ("y", "t1")] {
        other.record_take(hash.clone(), entry(content, at), false);
    }
    let mut cassette = RecordingDocument::default();
    cassette.record_take(step("a"), entry("1", "t1"), false);
    cassette.merge(&other);
    let once = cassette.clone();
    assert_eq!(once.len(), 4);
    cassette.merge(&other);
    cassette.merge(&once);
    assert_eq!(cassette, once);
    assert_eq!(cassette.takes(&hash).len(), 3);
    assert!(cassette.takes(&step("zzz")).is_empty());
}
