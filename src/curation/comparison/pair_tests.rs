//! Which calls are paired.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use loomrec_recording::format;

/// Returns an entry whose request has this body.
fn entry(body: &Value) -> Entry {
    let entry = json!({"upstream": "openai", "request": {"method": "POST",
        "path": "/v1/chat/completions", "headers": {}, "body": body}});
    let text = json!({"_version": 2, "x": entry}).to_string();
    let cassette = format::parse(text.as_bytes()).unwrap();
    cassette.entries().next().unwrap().2.clone()
}

/// Returns calls with these names and prompts. The name `-` stands for the hash.
fn known(calls: &[(&str, &str)]) -> Vec<CallDigest> {
    let rules = IdentityRules::default();
    let mut takes: BTreeMap<EntryName, usize> = BTreeMap::new();
    let one = |(name, prompt): &(&str, &str)| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": prompt}]});
        let entry = entry(&body);
        let request = entry.request.as_ref().unwrap();
        let hash = request.recognise_with_key(&rules).1;
        let name =
            if *name == "-" { EntryName::Hash(hash) } else { EntryName::Step((*name).into()) };
        let take = takes.entry(name.clone()).or_default();
        *take += 1;
        CallDigest::from_entry(name, *take, &entry, &rules)
    };
    calls.iter().map(one).collect()
}

/// Returns pairs as `old-new` with the reason. The distance is the number of different bytes.
fn paired(old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<String> {
    let distance = |a: usize, b: usize| {
        let (a, b) = (old[a].1.as_bytes(), new[b].1.as_bytes());
        let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
        Some((a.len().max(b.len()) - same) as u64)
    };
    let found = pair_calls(&known(old), &known(new), distance);
    found.iter().map(|pair| format!("{}-{} {}", pair.old, pair.new, pair.by.as_str())).collect()
}

#[test]
fn step_ids_come_first_and_hashes_within_them() {
    assert_eq!(
        paired(
            &[("plan", "a"), ("plan", "b"), ("-", "c")],
            &[("-", "c"), ("plan", "b"), ("plan", "z")]
        ),
        ["0-2 step_id", "1-1 step_id", "2-0 request_hash"]
    );
}

#[test]
fn takes_of_one_hash_are_paired_in_order() {
    assert_eq!(
        paired(&[("-", "a"), ("-", "a"), ("-", "a")], &[("-", "b"), ("-", "a"), ("-", "a")]),
        ["0-1 request_hash", "1-2 request_hash", "2-0 nearest"]
    );
}

#[test]
fn step_that_was_renamed_is_found_by_its_hash() {
    assert_eq!(paired(&[("plan", "a")], &[("outline", "a")]), ["0-0 request_hash"]);
}

#[test]
fn nearest_requests_are_paired_whatever_their_order() {
    let (one, other) = ("the first of two long prompts", "something else was asked for here");
    let (changed, altered) = ("the first of two long PROMPTS", "something else was asked for HERE");
    assert_eq!(
        paired(&[("-", one), ("-", other)], &[("-", altered), ("-", changed)]),
        ["0-1 nearest", "1-0 nearest"]
    );
}

#[test]
fn calls_that_have_little_in_common_are_paired_only_at_the_same_place() {
    let (long, strange) = ("x".repeat(400), "0123456789".repeat(40));
    let (long, strange) = (long.as_str(), strange.as_str());
    assert_eq!(
        paired(&[("-", "a"), ("-", long), ("-", "c")], &[("-", "a"), ("-", strange), ("-", "c")]),
        ["0-0 request_hash", "1-1 place", "2-2 request_hash"]
    );
    assert_eq!(
        paired(&[("-", "a"), ("-", long)], &[("-", strange), ("-", "a")]),
        ["0-1 request_hash"]
    );
}

proptest! {
    #[test]
    fn each_call_is_paired_at_most_once(
        old in prop::collection::vec((0..3_usize, "[ab]{0,3}"), 0..9),
        new in prop::collection::vec((0..3_usize, "[ab]{0,3}"), 0..9),
    ) {
        fn calls(list: &[(usize, String)]) -> Vec<(&str, &str)> {
            list.iter().map(|(at, prompt)| (["-", "plan", "sum"][*at], prompt.as_str())).collect()
        }
        let (one, other) = (known(&calls(&old)), known(&calls(&new)));
        let found = pair_calls(&one, &other, |_, _| Some(0));
        let mut seen: Vec<usize> = found.iter().map(|pair| pair.new).collect();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), found.len());
        // No call that both have is left unpaired.
        let all = crate::comparison::ordered_rows(one.len(), other.len(), &found);
        prop_assert_eq!(all.len(), one.len() + other.len() - found.len());
        let same = pair_calls(&one, &one, |_, _| Some(0));
        prop_assert!(same.len() == one.len() && same.iter().all(|pair| pair.old == pair.new));
    }
}

/// Returns a call with this body under a hash.
fn digest(body: &Value) -> CallDigest {
    let (entry, rules) = (entry(body), IdentityRules::default());
    let hash = entry.request.as_ref().unwrap().recognise_with_key(&rules).1;
    CallDigest::from_entry(EntryName::Hash(hash), 1, &entry, &rules)
}

#[test]
fn conversation_with_a_changed_message_is_paired_without_measuring_each_call() {
    let side = |first: &str| -> Vec<CallDigest> {
        let mut messages = Vec::new();
        let call = |turn: usize| {
            let text = |at: usize| if at == 0 { first.to_owned() } else { format!("text {at}") };
            messages.extend(
                (messages.len()..2 * turn - 1).map(
                    |at| json!({ "role": (["user", "assistant"][at % 2]), "content": text(at) }),
                ),
            );
            json!({ "model": "m", "messages": messages })
        };
        (1..=200).map(call).map(|body| digest(&body)).collect()
    };
    let (old, new) = (side("What is the weather in Paris?"), side("What is the weather in Rome?"));
    let mut measured = 0;
    let found = pair_calls(&old, &new, |_, _| {
        measured += 1;
        Some(4)
    });
    assert_eq!(measured, 1, "only the first calls are compared");
    let by = |pair: &CallPair| (pair.old, pair.new, pair.by.as_str());
    assert_eq!(by(&found[0]), (0, 0, "nearest"));
    assert!(found[1..].iter().map(by).eq((1..200).map(|at| (at, at, "conversation"))));
}

#[test]
fn size_of_what_is_measured_is_bounded() {
    let prompt = |salt: usize| (0..4000).map(|at| format!("{} ", at * salt)).collect::<String>();
    let side = |salt: usize| -> Vec<CallDigest> {
        let body = |at: usize| json!({ "model": "m", "prompt": format!("{at} {}", prompt(salt)) });
        (0..300).map(body).map(|body| digest(&body)).collect()
    };
    let (old, new) = (side(7), side(11));
    let mut measured = 0;
    pair_calls(&old, &new, |_, _| {
        measured += 1;
        None
    });
    assert!((300..3000).contains(&measured), "{measured} requests are measured");
}
