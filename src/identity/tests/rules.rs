//! Tests of pointers and of what the rules leave out.

use crate::{IdentityRules, JsonPointer, PointerError};

fn rules(pointers: &[&str]) -> IdentityRules {
    IdentityRules::new(pointers.iter().map(|text| JsonPointer::parse(text).unwrap()).collect())
}

#[test]
fn pointer_keeps_its_text_when_read_and_written() {
    for (text, tokens) in [
        ("/", &[""][..]),
        ("/a/b", &["a", "b"]),
        ("/a~1b/~0~01", &["a/b", "~~1"]),
        ("/0/-/*", &["0", "-", "*"]),
        ("/é//x", &["é", "", "x"]),
    ] {
        let pointer = JsonPointer::parse(text).unwrap();
        assert_eq!(pointer.tokens(), tokens);
        assert_eq!(pointer.to_string(), text);
    }
}

#[test]
fn pointer_is_refused_with_a_hint_when_it_is_none() {
    assert_eq!(JsonPointer::parse(""), Err(PointerError::Whole));
    assert_eq!(JsonPointer::parse("a/b"), Err(PointerError::Start { text: "a/b".to_owned() }));
    for text in ["/a~", "/~2", "/~é", "/~/0"] {
        assert_eq!(JsonPointer::parse(text), Err(PointerError::Tilde { text: text.to_owned() }));
    }
    let message = JsonPointer::parse("metadata").unwrap_err().to_string();
    assert!(message.contains("must begin with \"/\""), "{message}");
}

#[test]
fn rules_are_sorted_and_single_when_made_and_joined() {
    let first = rules(&["/b", "/a/b", "/b", "/a!"]);
    let texts = |rules: &IdentityRules| {
        rules.ignored_places().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(texts(&first), ["/a/b", "/a!", "/b"]);
    let more =
        first.with_ignored([JsonPointer::parse("/a").unwrap(), JsonPointer::parse("/b").unwrap()]);
    assert_eq!(texts(&more), ["/a", "/a/b", "/a!", "/b"]);
    assert_eq!(rules(&["/x", "/y"]), rules(&["/y", "/x", "/x"]));
    assert_eq!(texts(&rules(&["/x"]).with_delivery()), ["/stream", "/stream_options", "/x"]);
}

#[test]
fn place_is_ignored_when_a_rule_names_it_or_something_around_it() {
    let rules = rules(&["/a/b", "/a!", "/list/10", "/list/2/x", "/*", "/a/bb/c", "/"]);
    for ignored in [
        &["a", "b"][..],
        &["a", "b", "c"],
        &["a!"],
        &["list", "10"],
        &["list", "2", "x"],
        &["*", "q"],
        &[""],
    ] {
        assert!(rules.is_ignored(ignored), "{ignored:?}");
    }
    for kept in [
        &[][..],
        &["a"],
        &["b"],
        &["a", "bb"],
        &["a", "a"],
        &["list", "1"],
        &["list", "010"],
        &["list", "2"],
        &["x", "b"],
    ] {
        assert!(!rules.is_ignored(kept), "{kept:?}");
    }
}
