//! Tests of what the JSON reader accepts and refuses.

use std::borrow::Cow;
use std::time::Instant;

use proptest::prelude::*;

use super::source;
use crate::{
    IdentityRules, Json, JsonError, JsonPointer, JsonStr, body_deltas, body_distance, canonical,
    parse,
};

fn nested(depth: usize) -> String {
    "[{\"a\":".repeat(depth / 2) + "1" + &"}]".repeat(depth / 2)
}

#[test]
fn reader_refuses_when_input_is_not_plain_json() {
    let cases: [(&[u8], JsonError); 14] = [
        (b"", JsonError::Syntax { at: 0 }),
        (b"{\"a\": 1} x", JsonError::Syntax { at: 9 }),
        (b"[1,]", JsonError::Syntax { at: 3 }),
        (b"01", JsonError::Syntax { at: 1 }),
        (b"+1", JsonError::Syntax { at: 0 }),
        (b"NaN", JsonError::Syntax { at: 0 }),
        (b"-Infinity", JsonError::Syntax { at: 1 }),
        (b"\xef\xbb\xbf1", JsonError::Syntax { at: 0 }),
        (b"\"a\nb\"", JsonError::Syntax { at: 2 }),
        (b"\"ab", JsonError::Syntax { at: 3 }),
        (b"\"\xff\"", JsonError::Utf8 { at: 1 }),
        (br#""\ud83d""#, JsonError::Surrogate { at: 1 }),
        (br#"["\ude00\ud83d"]"#, JsonError::Surrogate { at: 2 }),
        (br#"{"x": {"a": 1, "b": 2, "\u0061": 3}}"#, JsonError::DuplicateKey { at: 35 }),
    ];
    for (source, error) in cases {
        assert_eq!(parse(source).unwrap_err(), error, "{:?}", String::from_utf8_lossy(source));
    }
}

#[test]
fn nesting_is_read_to_the_limit_when_the_stack_is_small() {
    let on_small_stack = || {
        let deepest = nested(500);
        let other = deepest.replace(":1", ":2");
        let (value, other) = (parse(deepest.as_bytes()).unwrap(), parse(other.as_bytes()).unwrap());
        assert_eq!(canonical::value_text(&value).replace(' ', ""), deepest);
        let rules = IdentityRules::default();
        assert_eq!(body_deltas(&value, &other, &rules, 9).len(), 1);
        assert!(body_distance(&value, &other, &rules) > 0);
        let too_deep = format!("[{deepest}]");
        assert_eq!(parse(too_deep.as_bytes()).unwrap_err(), JsonError::TooDeep { at: 1496 });
        let hostile = "[".repeat(1 << 20);
        assert_eq!(parse(hostile.as_bytes()).unwrap_err(), JsonError::TooDeep { at: 500 });
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(on_small_stack).unwrap();
    thread.join().unwrap();
}

#[test]
fn many_values_are_refused_when_they_would_claim_the_memory() {
    let hostile = format!("[{}0]", "0,".repeat(8_000_000));
    assert!(matches!(parse(hostile.as_bytes()), Err(JsonError::TooManyValues { .. })));
}

#[test]
fn duplicate_key_is_found_quickly_when_an_object_is_large() {
    let member = |index: usize| format!("\"{}\\u006b{index}\":{index}", "k".repeat(40));
    let time_of = |count: usize| {
        let mut members: Vec<_> = (0..count).rev().map(member).collect();
        let distinct = format!("{{{}}}", members.join(","));
        members.push(member(count / 3).replace("\\u006b", "k"));
        let twice = format!("{{{}}}", members.join(","));
        let begun = Instant::now();
        assert!(parse(distinct.as_bytes()).is_ok());
        assert!(matches!(parse(twice.as_bytes()), Err(JsonError::DuplicateKey { .. })));
        begun.elapsed()
    };
    let (small, large) = (time_of(20_000), time_of(200_000));
    // There are ten times as many members. Comparing each with all others would take a hundred
    // times as long.
    assert!(large < small * 50, "took {large:?}, a tenth of it {small:?}");
}

#[test]
fn values_are_found_when_asked_by_key_and_place() {
    let source =
        br#"{"b": [true, "x\ty", 9007199254740993], "\u0061/~": {"": null}, "plain": "p"}"#;
    let body = parse(source).unwrap();
    let at = |place: &str| body.value_at(&JsonPointer::parse(place).unwrap());
    assert_eq!(at("/b/0").and_then(Json::as_bool), Some(true));
    assert_eq!(at("/b/1").and_then(Json::as_str).unwrap(), "x\ty");
    assert_eq!(at("/b/2").and_then(Json::as_number), Some("9007199254740993"));
    assert!(matches!(at("/a~1~0/"), Some(Json::Null)));
    for nowhere in
        ["/b/00", "/b/3", "/b/-", "/b/+1", "/b/0/0", "/c", "/a~1~0/x", "/b/99999999999999999999"]
    {
        assert!(at(nowhere).is_none(), "{nowhere}");
    }
    assert!(body.get("a/~").is_some_and(Json::is_object));
    assert!(body.get("zz").is_none());
}

#[test]
fn string_borrows_when_nothing_is_escaped() {
    let plain = parse("\"grüß 😀\"".as_bytes()).unwrap();
    assert!(matches!(plain.as_str(), Some(Cow::Borrowed("grüß 😀"))));
    let escaped = parse(br#""\ud83d\ude00\/\u00e9""#).unwrap();
    assert!(matches!(escaped.as_str(), Some(Cow::Owned(text)) if text == "😀/é"));
}

#[test]
fn strings_compare_by_meaning_when_spelt_differently() {
    let source = br#"["a\u0062c", "abd", "a\\u0062c"]"#;
    let list = parse(source).unwrap();
    let text = |index: usize| match &list.as_array().unwrap()[index] {
        Json::String(text) => *text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(0), JsonStr::from("abc"));
    assert!(text(0) < text(1));
    assert_eq!(text(2), r"a\u0062c");
    assert_ne!(text(0), text(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reader_agrees_with_serde_when_bytes_are_random(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        // serde_json accepts all that we accept; it also accepts duplicate keys.
        if let Ok(value) = parse(&bytes) {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
            prop_assert!(canonical::value_text(&value).is_ascii());
        }
    }

    #[test]
    fn strings_mean_what_serde_reads_when_texts_are_random(source in source::value()) {
        fn same(ours: &Json<'_>, theirs: &serde_json::Value) -> bool {
            match (ours, theirs) {
                (Json::String(a), serde_json::Value::String(b)) => a.as_str() == *b && *a == b.as_str(),
                (Json::Array(a), serde_json::Value::Array(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
                }
                (Json::Object(a), serde_json::Value::Object(b)) => {
                    a.len() == b.len() && b.iter().all(|(key, b)| ours.get(key).is_some_and(|a| same(a, b)))
                }
                (Json::Bool(a), serde_json::Value::Bool(b)) => a == b,
                (Json::Null, serde_json::Value::Null) | (Json::Number(_), serde_json::Value::Number(_)) => true,
                _ => false,
            }
        }
        let theirs: serde_json::Value = serde_json::from_str(&source).unwrap();
        prop_assert!(same(&parse(source.as_bytes()).unwrap(), &theirs), "{}", source);
    }
}
