use proptest::prelude::*;
use serde_json::{Value, json};

use super::{JsonSpacing, JsonStyle, write_file_value};

fn detected(text: &str) -> Option<String> {
    let (value, style) = JsonStyle::detect(text.as_bytes())?;
    assert_eq!(style.value_text(&value), text.as_bytes());
    Some(style.name().unwrap_or_default())
}

#[test]
fn style_is_named_when_the_text_is_not_compact() {
    assert_eq!(detected(r#"{"a":[1,2.50],"b":"é"}"#).as_deref(), Some(""));
    assert_eq!(detected(r#"{"a": [1, 2]}"#).as_deref(), Some("spaced"));
    assert_eq!(
        detected("{\"a\": \"h\\u00e9 \\ud83d\\ude00\\u007f\"}\n").as_deref(),
        Some("spaced ascii newline")
    );
    assert_eq!(
        detected(
            "{\n  \"a\": [],\n  \"b\": {\n    \"c\": [\n      1e+5,\n      -0\n    ]\n  }\n}\n"
        )
        .as_deref(),
        Some("pretty newline")
    );
    assert_eq!(detected("null").as_deref(), Some(""));
}

#[test]
fn colon_inside_a_compact_string_does_not_mislead_detection() {
    assert_eq!(detected(r#"{"a":"x\": y, z"}"#).as_deref(), Some(""));
}

#[test]
fn nothing_is_detected_when_the_bytes_would_not_come_back() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":"\/"}"#,
        r#"{"a":"\u00E9"}"#,
        "{\"a\":1}\n\n",
        "{\"a\" :1}",
        "{\n    \"a\": 1\n}",
        r#"{"a":"\ud800"}"#,
        r#"{"$serde_json::private::Number":"1"}"#,
        r#"{"$serde_json::private::RawValue":"[1]"}"#,
        "",
        "{",
    ] {
        assert_eq!(JsonStyle::detect(text.as_bytes()), None, "{text}");
    }
    assert_eq!(JsonStyle::detect(b"\"\xff\""), None);
}

#[test]
fn deep_nesting_is_not_kept_as_a_value() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(JsonStyle::detect(deep(100).as_bytes()).is_some());
    assert!(JsonStyle::detect(deep(101).as_bytes()).is_none());
    assert!(JsonStyle::detect(deep(100_000).as_bytes()).is_none());
}

#[test]
fn style_words_are_refused_when_unknown() {
    assert_eq!(JsonStyle::parse("pretty tabs"), None);
    assert_eq!(JsonStyle::parse(""), None);
}

#[test]
fn rows_stay_on_one_line_in_the_file() {
    let mut out = Vec::new();
    let value = json!({"chunks": [[1.5, "a\nb"], [2, {"base64": "AA=="}]], "v": [1, 2, 3], "s": ["a", "b", "c"]});
    write_file_value(&mut out, &value, 1);
    let expected = "{\n    \"chunks\": [\n      [1.5, \"a\\nb\"],\n      [2, {\"base64\": \"AA==\"}]\n    ],\n    \"v\": [1, 2, 3],\n    \"s\": [\n      \"a\",\n      \"b\",\n      \"c\"\n    ]\n  }";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinity", |n| n.is_finite())
            .prop_map(|n| format!("{n:?}")),
        "[1-9][0-9]{20,40}",
        "-?[0-9]\\.[0-9]{1,30}[eE][+-]?[0-9]{1,3}",
    ]
    .prop_map(|text| serde_json::from_str(&text).unwrap());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number,
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_style_is_detected_from_its_own_text(value in any_json(), spacing in 0..3, ascii: bool, newline: bool) {
        let spacing = [JsonSpacing::Compact, JsonSpacing::Spaced, JsonSpacing::Pretty][spacing as usize];
        let style = JsonStyle { spacing, ascii, newline };
        let text = style.value_text(&value);
        let (back, found) = JsonStyle::detect(&text).expect("the text is one of ours");
        prop_assert_eq!(found.value_text(&back), text);
        if let Some(name) = found.name() {
            prop_assert_eq!(JsonStyle::parse(&name), Some(found));
        }
    }

    #[test]
    fn file_text_reads_back_as_the_same_value(value in any_json(), level in 0_usize..4) {
        let mut out = Vec::new();
        write_file_value(&mut out, &value, level);
        let back: Value = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(back, value);
    }

    #[test]
    fn detection_never_panics_on_any_bytes(bytes: Vec<u8>) {
        if let Some((value, style)) = JsonStyle::detect(&bytes) {
            prop_assert_eq!(style.value_text(&value), bytes);
        }
    }
}
