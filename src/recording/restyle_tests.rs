use proptest::prelude::*;

use super::super::json_style::{tests::any_json, write_file_value};
use super::*;

/// Returns the style of a body and its text in the file, by way of its value.
fn by_value(bytes: &[u8]) -> Option<(JsonStyle, Vec<u8>)> {
    let (value, style) = JsonStyle::detect(bytes)?;
    let mut out = Vec::new();
    write_file_value(&mut out, &value, 2);
    Some((style, out))
}

fn by_text(bytes: &[u8]) -> Option<(JsonStyle, Vec<u8>)> {
    let spelled = StyledBody::detect(bytes)?;
    let mut out = Vec::new();
    spelled.write_file(&mut out, 2);
    Some((spelled.style, out))
}

proptest! {
    #[test]
    fn text_and_value_say_the_same_of_every_style(value in any_json(), spacing in 0..3, ascii: bool, newline: bool) {
        let spacing = [JsonSpacing::Compact, JsonSpacing::Spaced, JsonSpacing::Pretty][spacing as usize];
        let bytes = JsonStyle { spacing, ascii, newline }.value_text(&value);
        let text = by_text(&bytes);
        prop_assert!(text.is_none() || text == by_value(&bytes));
        let plain = !bytes.iter().any(|byte| matches!(byte, b'e' | b'E'));
        prop_assert!(text.is_some() || !plain || by_value(&bytes).is_none());
    }

    #[test]
    fn text_and_value_say_the_same_of_what_is_nearly_json(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ", ", ":", ": ", "\"a\"", "\"b\"", "\"base64\"", "1", "-0", "1.50",
            "1e5", "1E+5", "\"\\u0041\"", "\"\\u00e9\"", "\"\\u00E9\"", "\"\\u001f\"",
            "\"\\u000a\"", "\"\\n\"", "\"\\/\"", "\"\\ud83d\\ude00\"", "\"\u{e9}\"",
            "\"\u{7f}\"", "\"\\u007f\"", "null", "true", "\n", "\n  ", " ",
        ]), 0..12),
    ) {
        let bytes = pieces.concat().into_bytes();
        if let Some(text) = by_text(&bytes) {
            prop_assert_eq!(Some(text), by_value(&bytes));
        }
    }
}

#[test]
fn strings_are_told_as_their_values_are() {
    for text in [
        r#"["\u0041"]"#,
        r#"["\u00e9"]"#,
        r#"["\u00E9"]"#,
        r#"["\u001f"]"#,
        r#"["\u000a"]"#,
        r#"["\n\t\r\b\f\"\\"]"#,
        r#"["\/"]"#,
        r#"["\ud83d\ude00"]"#,
        "[\"\u{e9}\"]",
        "[\"\u{7f}\"]",
        r#"["\u007f"]"#,
        r#"[1,{"base64":"x"}]"#,
        r#"[[1, 2], [[], "a"]]"#,
        r#"{"b": 1, "a": ["x", "y"]}"#,
    ] {
        assert_eq!(by_text(text.as_bytes()), by_value(text.as_bytes()), "{text}");
    }
    assert!(by_text(b"[1e5]").is_none());
}
