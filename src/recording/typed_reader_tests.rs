use proptest::prelude::*;
use serde_json::Value;

use super::super::json_style::tests::any_json;
use super::super::json_style::write_file_value;
use super::*;

const STYLES: [JsonStyle; 4] = [
    JsonStyle::PLAIN,
    JsonStyle { newline: true, ..JsonStyle::PLAIN },
    JsonStyle { spacing: JsonSpacing::Spaced, ..JsonStyle::PLAIN },
    JsonStyle { spacing: JsonSpacing::Spaced, newline: true, ..JsonStyle::PLAIN },
];

#[test]
fn other_spellings_are_left_to_the_long_way() {
    for text in [
        r#""\/""#,
        r#""\u0041""#,
        r#""\u000A""#,
        r#""\u000a""#,
        r#""\u00e9""#,
        r#""\ud800""#,
        r#"{"a": 1, "a": 2}"#,
        r#"{"$serde_json::private::Number": "1"}"#,
        "{\"a\": \"\t\"}",
        "[1,]",
        "[1] 2",
        "{\"a\" 1}",
        "{,}",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "-",
        "tru",
        "\"x",
        "",
        &format!("{}1{}", "[".repeat(92), "]".repeat(92)),
    ] {
        assert_eq!(body_in_style(text, JsonStyle::PLAIN), None, "{text}");
    }
    let pretty = JsonStyle { spacing: JsonSpacing::Pretty, ..JsonStyle::PLAIN };
    assert_eq!(body_in_style("1", pretty), None);
    assert_eq!(body_in_style("1", JsonStyle { ascii: true, ..JsonStyle::PLAIN }), None);
}

#[test]
fn own_escapes_are_copied() {
    let text = r#"[ "\"\\\n\r\t\b\f\u0000\u001f\u000b" , -0.0e+5 ]"#;
    let compact: String = text.chars().filter(|c| *c != ' ').collect();
    assert_eq!(body_in_style(text, JsonStyle::PLAIN), Some(compact.into_bytes()));
}

proptest! {
    #[test]
    fn body_is_the_same_both_ways(value in any_json(), style in prop::sample::select(&STYLES[..]), level in 0_usize..4) {
        let mut text = Vec::new();
        write_file_value(&mut text, &value, level);
        let text = String::from_utf8(text).unwrap();
        prop_assert_eq!(body_in_style(&text, style), Some(style.value_text(&value)));
    }

    #[test]
    fn text_by_any_hand_is_read_as_its_tree_or_left_to_the_long_way(text in r#"([\[\]{},:0-9eE.+\- a"\\unrtbf/\n]|"[a\\"u0-9]{0,8}":?|"\\u00[01][0-9a-fA-F]"|null|true){0,12}"#, style in prop::sample::select(&STYLES[..])) {
        if let Some(bytes) = body_in_style(&text, style) {
            let value: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(style.value_text(&value), bytes);
        }
    }

    #[test]
    fn string_is_read_as_the_tree_reads_it(text in any::<String>(), ascii: bool) {
        let value = Value::from(text.as_str());
        let written = JsonStyle { ascii, ..JsonStyle::PLAIN }.value_text(&value);
        let written = String::from_utf8(written).unwrap();
        prop_assert_eq!(TextTokens::new(&written).read_owned_string(), Some(text.clone()));
        let mut out = vec![b'x'];
        prop_assert_eq!(TextTokens::new(&written).string_into(&mut out), Some(text.len()));
        prop_assert_eq!(&out[1..], text.as_bytes());
    }

    #[test]
    fn number_is_read_as_the_tree_reads_it(text in "-?[0-9]{0,3}\\.?[0-9]{0,2}([eE][+-]?[0-9]{0,3})?") {
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let mut tokens = TextTokens::new(&text);
        let number = tokens.read_number().filter(|_| tokens.is_at_end());
        prop_assert_eq!(number, value.as_ref().and_then(Value::as_f64));
        let mut tokens = TextTokens::new(&text);
        let count = tokens.read_count().filter(|_| tokens.is_at_end());
        prop_assert_eq!(count, value.as_ref().and_then(Value::as_u64));
    }
}
