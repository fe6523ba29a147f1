//! Tests of deltas and distances.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::key::{chat, headers};
use super::source;
use crate::{
    IdentityRules, JsonPointer, KeyForm, RequestDelta, RequestKey, RequestParts, body_deltas,
    body_distance, parse, request_deltas,
};

fn rules(pointers: &[&str]) -> IdentityRules {
    IdentityRules::new(pointers.iter().map(|text| JsonPointer::parse(text).unwrap()).collect())
}

/// Deltas as `pointer: recorded -> now`, `-` for nothing.
fn lines(found: Vec<RequestDelta>) -> Vec<String> {
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    found
        .into_iter()
        .map(|d| format!("{}: {} -> {}", d.pointer, text(d.recorded), text(d.now)))
        .collect()
}

fn between(recorded: &str, now: &str, ignore: &[&str]) -> Vec<String> {
    let (recorded, now) = (parse(recorded.as_bytes()).unwrap(), parse(now.as_bytes()).unwrap());
    lines(body_deltas(&recorded, &now, &rules(ignore), 100))
}

fn far(recorded: &str, now: &str) -> u64 {
    body_distance(
        &parse(recorded.as_bytes()).unwrap(),
        &parse(now.as_bytes()).unwrap(),
        &rules(&[]),
    )
}

#[test]
fn each_leaf_is_named_when_values_differ() {
    let recorded = r#"{"model":"a","messages":[{"role":"user","content":"x"}],"t":1,"gone":[1],"k/~":true,"same":1e5}"#;
    let now = r#"{"model":"b","messages":[{"role":"user","content":"y\n"}],"t":1.0,"new":{"b":1,"a":2},"k/~":null,"same":100000.0}"#;
    assert_eq!(
        between(recorded, now, &[]),
        [
            r#"/gone: [1] -> -"#,
            r#"/k~1~0: true -> null"#,
            r#"/messages/0/content: "x" -> "y\n""#,
            r#"/model: "a" -> "b""#,
            r#"/new: - -> {"a": 2, "b": 1}"#,
            r#"/t: 1 -> 1.0"#,
        ]
    );
    assert_eq!(between("1", "[1]", &[]), [": 1 -> [1]"]);
    assert!(between(recorded, recorded, &[]).is_empty());
}

#[test]
fn elements_are_compared_by_index_when_arrays_changed_throughout() {
    assert_eq!(between("[1,2,3]", "[1,9,3,4]", &[]), ["/1: 2 -> 9", "/3: - -> 4"]);
    assert_eq!(between("[1,2,3]", "[4]", &[]), ["/0: 1 -> 4", "/1: 2 -> -", "/2: 3 -> -"]);
    assert_eq!(between("[1,2,3]", "[3,2,1]", &[]), ["/0: 1 -> 3", "/2: 3 -> 1"]);
}

#[test]
fn only_what_was_put_in_or_taken_out_is_named_when_the_rest_stayed() {
    assert_eq!(between("[1,2]", "[0,1,2]", &[]), ["/0: - -> 0"]);
    assert_eq!(
        between("[1,2]", "[1,{\"a\":[5]},6,2]", &[]),
        ["/1: - -> {\"a\": [5]}", "/2: - -> 6"]
    );
    assert_eq!(between("[1,2,3,4]", "[1,4]", &[]), ["/1: 2 -> -", "/2: 3 -> -"]);
    assert_eq!(between("[]", "[7]", &[]), ["/0: - -> 7"]);
    assert_eq!(between("[5,5,5]", "[5,5]", &[]), ["/2: 5 -> -"]);
}

#[test]
fn ignored_places_do_not_differ_when_rules_name_them() {
    let (recorded, now) =
        (r#"{"a":{"id":1,"v":1},"l":[1,2]}"#, r#"{"a":{"id":2,"v":2},"l":[9,3,4]}"#);
    assert_eq!(
        between(recorded, now, &["/a/id", "/l/0", "/l/2"]),
        ["/a/v: 1 -> 2", "/l/1: 2 -> 3", "/l/2: - -> 4"]
    );
    assert!(between(recorded, now, &["/a", "/l"]).is_empty());
}

#[test]
fn deltas_end_when_there_are_enough() {
    let list = |value: u32| format!("[{}]", vec![value.to_string(); 50].join(","));
    let (recorded, now) = (list(1), list(2));
    let (recorded, now) = (parse(recorded.as_bytes()).unwrap(), parse(now.as_bytes()).unwrap());
    for max in [0, 1, 7] {
        assert_eq!(body_deltas(&recorded, &now, &rules(&[]), max).len(), max);
    }
}

#[test]
fn a_long_prompt_is_near_when_only_its_middle_changed() {
    let prompt = |middle: &str| {
        format!(
            r#"{{"messages":[{{"content":"{}{middle}{}"}}]}}"#,
            "start ".repeat(90),
            " end".repeat(90)
        )
    };
    let unrelated = format!(r#"{{"messages":[{{"content":"{}"}}]}}"#, "other ".repeat(150));
    let near = far(&prompt("Monday"), &prompt("Tuesday"));
    assert!(near < 20, "{near}");
    assert!(far(&prompt("Monday"), &unrelated) > 500);
    assert!(far(&prompt("Monday"), "{}") > 500);
    assert_eq!(far(&prompt("Monday"), &prompt("Monday")), 0);
}

#[test]
fn work_is_bounded_when_values_are_hostile() {
    // The lengths differ at each level, so each level tries to align its elements.
    let nest = |leaf: &str| {
        "[".repeat(400) + &format!("\"{}{leaf}\"", "x".repeat(2 << 20)) + &",1]".repeat(400)
    };
    let (recorded, now) = (nest("a"), nest("b").replacen(",1]", "]", 400));
    let begun = Instant::now();
    assert_eq!(between(&recorded, &now, &[]).len(), 100);
    assert!(far(&recorded, &now) > 0);
    assert!(begun.elapsed() < Duration::from_secs(10), "took {:?}", begun.elapsed());
}

#[test]
fn request_deltas_name_the_field_when_it_is_not_the_body() {
    let (before, after) = (
        headers(&[("anthropic-version", "1"), ("x-other", "a")]),
        headers(&[("anthropic-beta", "b"), ("x-other", "c")]),
    );
    let form = |target| KeyForm::Tagged { target, delivery: true, known: false };
    let recorded = RequestParts {
        form: form("/a"),
        method: "POST",
        query: "x=1",
        headers: &before,
        body: br#"{"stream":true,"a":1}"#,
    };
    let now = RequestParts {
        form: form("/b"),
        method: "PUT",
        query: "x=2",
        headers: &after,
        body: br#"{"a":2}"#,
    };
    assert_eq!(
        lines(request_deltas(&recorded, &now, &rules(&[]), 100)),
        [
            r#"method: "POST" -> "PUT""#,
            r#"target: "/a" -> "/b""#,
            r#"query: "x=1" -> "x=2""#,
            r#"header anthropic-version: "1" -> -"#,
            r#"header anthropic-beta: - -> "b""#,
            r#"/a: 1 -> 2"#,
        ]
    );
    assert_eq!(request_deltas(&recorded, &now, &rules(&[]), 2).len(), 2);
}

#[test]
fn request_deltas_name_the_body_when_it_is_bytes() {
    let list = headers(&[("content-type", "application/octet-stream")]);
    let form = KeyForm::Tagged { target: "/a", delivery: false, known: false };
    let parts = |body| RequestParts { form, method: "POST", query: "", headers: &list, body };
    let found = request_deltas(&parts(b"ab"), &parts(b"abc"), &rules(&[]), 100);
    let places: Vec<_> = found.iter().map(|delta| delta.pointer.as_str()).collect();
    assert_eq!(places, ["body/length", "body/sha256"]);
}

#[test]
fn ignored_element_differs_when_only_one_side_has_it() {
    let rules = rules(&["/messages/0"]);
    let (one, none) = (br#"{"messages": ["a"]}"#, br#"{"messages": []}"#);
    let (one, none) = (chat(one), chat(none));
    assert_ne!(RequestKey::from_parts(&one, &rules), RequestKey::from_parts(&none, &rules));
    let found = request_deltas(&one, &none, &rules, 9);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pointer.as_str(), &found[0].now), ("/messages/0", &None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deltas_are_none_when_and_only_when_keys_agree(a in source::chat_body(), b in source::chat_body()) {
        let rules = rules(&["/seed", "/messages/0"]);
        let (first, second) = (chat(a.as_bytes()), chat(b.as_bytes()));
        let same = RequestKey::from_parts(&first, &rules) == RequestKey::from_parts(&second, &rules);
        let found = request_deltas(&first, &second, &rules, 100);
        prop_assert_eq!(found.is_empty(), same, "{:?}", found);
    }

    #[test]
    fn distance_is_zero_when_and_only_when_there_are_no_deltas(a in source::value(), b in source::value()) {
        let (one, other) = (parse(a.as_bytes()).unwrap(), parse(b.as_bytes()).unwrap());
        let none = body_deltas(&one, &other, &rules(&[]), 9).is_empty();
        prop_assert_eq!(body_distance(&one, &other, &rules(&[])) == 0, none);
        prop_assert_eq!(body_distance(&one, &one, &rules(&[])), 0);
    }
}
