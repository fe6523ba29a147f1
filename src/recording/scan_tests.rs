use proptest::prelude::*;

use super::super::json_style::tests::any_json;
use super::*;

fn scanned(text: &[u8], piece: usize) -> Result<Vec<FoundMember>, SplitError> {
    let mut scanner = MemberScanner::new();
    for piece in text.chunks(piece) {
        scanner.feed(piece)?;
    }
    scanner.finish()
}

fn of(text: &str) -> Vec<FoundMember> {
    let whole = scanned(text.as_bytes(), text.len()).unwrap();
    for piece in 1..9 {
        assert_eq!(scanned(text.as_bytes(), piece).as_ref(), Ok(&whole), "{text}");
    }
    whole
}

fn slice<'a>(text: &'a str, range: &Range<u64>) -> &'a str {
    &text[range.start as usize..range.end as usize]
}

#[test]
fn members_are_found_with_their_keys_lines_and_values() {
    let text =
        "{\n  \"a\": {\"x\": [1, \"}\\\"\"]},\n\n\"\\u0062\" :[ ],\n  \"_c\":tru ,\"d\": \"é\" }\n";
    let found = of(text);
    let seen: Vec<_> = found
        .iter()
        .map(|member| (member.key.as_str(), member.line, slice(text, &member.value), member.tidy))
        .collect();
    assert_eq!(
        seen,
        [
            ("a", 2, "{\"x\": [1, \"}\\\"\"]}", true),
            ("b", 4, "[ ]", false),
            ("_c", 5, "tru", false),
            ("d", 5, "\"é\"", false)
        ]
    );
    assert_eq!(found[0].at, 4);
    assert_eq!(found[2].text, b"tru");
    assert_eq!(found[0].text, b"");
    assert_eq!(of(" { } "), []);
}

#[test]
fn key_in_another_spelling_or_place_is_not_tidy() {
    let tidy = |text: &str| of(text).iter().map(|member| member.tidy).collect::<Vec<_>>();
    assert_eq!(tidy("{\n  \"a\": 1,\n  \"é\": 2\n}"), [true, true]);
    for text in [
        "{\n  \"\\u0061\": 1}",
        "{\n \"a\": 1}",
        "{\n\t \"a\": 1}",
        "{\n   \"a\": 1}",
        " {\n  \"a\": 1}",
        "{\n  \"a\":1}",
        "{\n  \"a\" : 1}",
        "{\n  \"a\":  1}",
    ] {
        assert_eq!(tidy(text), [false], "{text}");
    }
    assert_eq!(tidy("{\n  \"a\": 1 ,\n  \"b\": 2}"), [true, false]);
}

#[test]
fn list_is_split_only_where_it_holds_nothing_but_objects() {
    let text = "{\"a\": [ {\"x\": [{}, {}]} ,\n{}], \"b\": [], \"c\": {\"d\": [{}]}}";
    let found = of(text);
    let ValueShape::List(items) = &found[0].shape else { panic!("{found:?}") };
    let items: Vec<_> = items.iter().map(|item| slice(text, item)).collect();
    assert_eq!(items, ["{\"x\": [{}, {}]}", "{}"]);
    assert_eq!(found[1].shape, ValueShape::List(Vec::new()));
    assert_eq!(found[2].shape, ValueShape::Object);
    for list in [
        "[1]",
        "[{},]",
        "[,{}]",
        "[{} {}]",
        "[{},,{}]",
        "[{}}",
        "[[]]",
        "[\"{}\"]",
        "[{}, null]",
        "[{}x]",
        "\"[{}]\"",
        "[{}:{}]",
    ] {
        assert_eq!(of(&format!("{{\"a\": {list}}}"))[0].shape, ValueShape::Other, "{list}");
    }
}

#[test]
fn text_that_is_not_one_object_is_not_split() {
    for text in [
        "",
        " ",
        "[]",
        "{",
        "{}}",
        "{} x",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\": ,}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":[}",
        "{\"a\":\"",
        "{\"\\x\": 1}",
        "{a: 1}",
        "\u{feff}{}",
    ] {
        assert_eq!(scanned(text.as_bytes(), text.len().max(1)), Err(SplitError), "{text}");
    }
    for bytes in [&b"{\"a\": \"\xff\"}"[..], b"{\"a\": \"\xe2\x82\"}", b"{}\xe2\x82", b"{} \xe2"] {
        for piece in 1..9 {
            assert_eq!(scanned(bytes, piece), Err(SplitError));
        }
    }
}

proptest! {
    #[test]
    fn any_object_splits_into_its_members_whatever_the_pieces(value in any_json(), pretty: bool, piece in 1_usize..40) {
        let object = serde_json::json!({"a": value, "é\"": [value, {"x": value}], "b": [{"x": value}, {}]});
        let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) }.unwrap();
        let found = scanned(text.as_bytes(), piece).unwrap();
        prop_assert_eq!(found.len(), 3);
        for member in found {
            let read: serde_json::Value = serde_json::from_str(slice(&text, &member.value)).unwrap();
            prop_assert_eq!(&read, &object[&member.key]);
            if let ValueShape::List(items) = member.shape {
                let items: Vec<serde_json::Value> = items.iter().map(|item| serde_json::from_str(slice(&text, item)).unwrap()).collect();
                prop_assert_eq!(&serde_json::Value::from(items), &read);
            } else {
                prop_assert!(member.key != "b");
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic_and_pieces_change_nothing(bytes in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b','), Just(b':'), Just(b'\\'), any::<u8>()], 0..60), piece in 1_usize..9) {
        prop_assert_eq!(scanned(&bytes, bytes.len().max(1)), scanned(&bytes, piece));
        let mut object = b"{\"a\":".to_vec();
        object.extend_from_slice(&bytes);
        object.push(b'}');
        prop_assert_eq!(scanned(&object, object.len()), scanned(&object, piece));
    }
}
