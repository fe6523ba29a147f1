//! Tests of patterns: places with a `*`.

use proptest::prelude::*;

use super::key::chat;
use crate::{
    IdentityRules, JsonPointer, PlacePattern, PlaceToken, PointerError, RequestKey, body_deltas,
    parse,
};

fn rules(patterns: &[&str]) -> IdentityRules {
    IdentityRules::new(patterns.iter().map(|text| PlacePattern::parse(text).unwrap()).collect())
}

/// The places that differ between two bodies under these rules.
fn differing(recorded: &str, now: &str, patterns: &[&str]) -> Vec<String> {
    let (recorded, now) = (parse(recorded.as_bytes()).unwrap(), parse(now.as_bytes()).unwrap());
    let found = body_deltas(&recorded, &now, &rules(patterns), 100);
    found.into_iter().map(|delta| delta.pointer).collect()
}

#[test]
fn pattern_keeps_its_text_when_read_and_written() {
    let name = |text: &str| PlaceToken::Name(text.to_owned());
    for (text, tokens) in [
        ("/messages/*/id", &[name("messages"), PlaceToken::Any, name("id")][..]),
        ("/*/a", &[PlaceToken::Any, name("a")]),
        ("/a/~2/**/*b", &[name("a"), name("*"), name("**"), name("*b")]),
        ("/~02/~0~1/", &[name("~2"), name("~/"), name("")]),
    ] {
        let pattern = PlacePattern::parse(text).unwrap();
        assert_eq!(pattern.tokens(), tokens, "{text}");
        assert_eq!(pattern.to_string(), text);
        assert_eq!(pattern.is_extended(), text.contains("/*/") || text.contains("/~2/"), "{text}");
    }
    let literal = PlacePattern::from(JsonPointer::parse("/a/*").unwrap());
    assert_eq!(literal.to_string(), "/a/~2");
    assert!(literal.is_extended());
}

#[test]
fn pattern_is_refused_when_it_is_no_pointer_or_selects_everything() {
    assert_eq!(PlacePattern::parse(""), Err(PointerError::Whole));
    assert_eq!(PlacePattern::parse("*"), Err(PointerError::Start { text: "*".to_owned() }));
    for text in ["/~2a", "/a~2", "/*/~", "/~3"] {
        assert_eq!(PlacePattern::parse(text), Err(PointerError::Tilde { text: text.to_owned() }));
    }
    let error = PlacePattern::parse("/*").unwrap_err();
    assert_eq!(error, PointerError::EveryMember);
    assert!(error.to_string().contains("such as /metadata/*"), "{error}");
}

#[test]
fn place_is_ignored_when_any_pattern_leads_to_it() {
    let rules = rules(&["/a/*/c", "/a/b/d", "/a/*/*/x", "/*/b/e", "/a/~2/z", "/list/*"]);
    for ignored in [
        &["a", "b", "c"][..],
        &["a", "0", "c", "below"],
        &["a", "b", "d"],
        &["a", "b", "q", "x"],
        // An exact rule and two patterns lead to what is around it.
        &["a", "b", "e"],
        &["other", "b", "e"],
        &["a", "*", "z"],
        &["a", "*", "c"],
        &["list", "7"],
        &["list", "name"],
    ] {
        assert!(rules.is_ignored(ignored), "{ignored:?}");
    }
    for kept in [
        &[][..],
        &["a"],
        &["a", "b"],
        &["a", "c"],
        &["a", "x", "d"],
        &["a", "x", "z"],
        &["a", "b", "q", "y"],
        &["list"],
        &["other", "c", "e"],
    ] {
        assert!(!rules.is_ignored(kept), "{kept:?}");
    }
}

#[test]
fn inserted_element_is_named_alone_when_patterns_are_the_same_for_every_element() {
    let recorded = r#"{"m":[{"id":1,"t":"a"},{"id":2,"t":"b"},{"id":3,"t":"c"}]}"#;
    let now = r#"{"m":[{"id":9,"t":"a"},{"t":"new"},{"id":8,"t":"b"},{"t":"c"}]}"#;
    assert_eq!(differing(recorded, now, &["/m/*/id"]), ["/m/1"]);
    // A rule for one element is bound to its index.
    assert_eq!(differing(recorded, now, &["/m/*/id", "/m/3/t"]), ["/m/1/t", "/m/2/t", "/m/3"]);
    assert_eq!(differing(recorded, now, &["/m/*"]), ["/m/3"]);
    let changed = recorded.replace("\"b\"", "\"B\"");
    assert_eq!(differing(recorded, &changed, &["/m/*/id"]), ["/m/1/t"]);
}

#[test]
fn many_patterns_that_lead_to_one_place_cost_no_more_than_their_number() {
    // Each rule has a name at one place and `*` at all others: one path could be taken in 2^20 ways.
    let pattern = |at: usize| {
        let token = |place: usize| if place == at { "/a" } else { "/*" };
        (0..20).map(token).collect::<String>() + "/end"
    };
    let patterns: Vec<String> = (0..20).map(pattern).collect();
    let rules = rules(&patterns.iter().map(String::as_str).collect::<Vec<_>>());
    let mut path = vec!["a"; 20];
    assert!(!rules.is_ignored(&path));
    path.push("end");
    assert!(rules.is_ignored(&path));
    path[3] = "b";
    assert!(rules.is_ignored(&path));
    let none = [vec!["b"; 20], vec!["end"]].concat();
    assert!(!rules.is_ignored(&none));
}

/// The text of a value with names of few letters, so that patterns meet them.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        (0..3_u8).prop_map(Into::into),
        "[ab]{0,2}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let object = prop::collection::btree_map("[ab*]{1}", inner.clone(), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(serde_json::Value::Array),
            object.prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A pattern of up to four tokens, some of them `*`.
fn pattern() -> impl Strategy<Value = Vec<&'static str>> {
    let token = prop::sample::select(vec!["*", "*", "a", "b", "~2", "0", "1", "2"]);
    prop::collection::vec(token, 1..4)
}

/// Every place in a value that a pattern leads to, as plain pointers.
fn places(value: &serde_json::Value, pattern: &[&str], at: &str, out: &mut Vec<String>) {
    let Some((token, rest)) = pattern.split_first() else { return out.push(at.to_owned()) };
    let children: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        serde_json::Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), member)).collect()
        }
        _ => Vec::new(),
    };
    for (name, child) in children {
        let wanted = if *token == "~2" { "*" } else { token };
        if *token == "*" || name == wanted {
            places(child, rest, &format!("{at}/{name}"), out);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn key_under_patterns_is_the_key_under_every_place_that_they_lead_to(
        value in value(),
        patterns in prop::collection::vec(pattern(), 0..5),
    ) {
        let body = serde_json::json!({ "model": "m", "in": value }).to_string();
        let texts: Vec<String> = patterns.iter().map(|it| format!("/in/{}", it.join("/"))).collect();
        let patterned = rules(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut plain = Vec::new();
        patterns.iter().for_each(|it| places(&value, it, "/in", &mut plain));
        let plain = plain.iter().map(|text| JsonPointer::parse(text).unwrap()).collect();
        let plain = IdentityRules::new::<JsonPointer>(plain);
        let parts = chat(body.as_bytes());
        prop_assert_eq!(RequestKey::from_parts(&parts, &patterned), RequestKey::from_parts(&parts, &plain));
    }

    #[test]
    fn deltas_are_none_under_patterns_when_and_only_when_keys_agree(
        a in value(),
        b in value(),
        patterns in prop::collection::vec(pattern(), 0..4),
    ) {
        let texts: Vec<String> = patterns.iter().map(|it| format!("/in/{}", it.join("/"))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let body = |value| serde_json::json!({ "model": "m", "in": value }).to_string();
        let (a, b) = (body(a), body(b));
        let key = |body: &str| RequestKey::from_parts(&chat(body.as_bytes()), &rules(&texts));
        let found = differing(&a, &b, &texts);
        prop_assert_eq!(found.is_empty(), key(&a) == key(&b), "{:?}", found);
    }
}
