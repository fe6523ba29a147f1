use proptest::prelude::*;

use super::*;

/// Returns the tokens as words, and whether the whole text is JSON.
fn read(text: &str) -> (Vec<String>, bool) {
    let mut tokens = JsonTokens::new(text.as_bytes());
    let mut words = Vec::new();
    for token in tokens.by_ref() {
        words.push(match token {
            JsonToken::Open => "(".to_owned(),
            JsonToken::Close => ")".to_owned(),
            JsonToken::Name(name) => format!("{}:", &text[name.range]),
            JsonToken::Value(value) => text[value.range].to_owned(),
            JsonToken::Scalar(range) => format!("={}", &text[range]),
        });
    }
    (words, tokens.is_complete())
}

#[test]
fn values_names_and_scalars_are_told_apart() {
    let (words, complete) = read(r#" {"a": "b", "c": [1, true, "d\"e"], "f": {}} "#);
    assert_eq!(
        words,
        ["(", "a:", "b", "c:", "(", "=1", "=true", r#"d\"e"#, ")", "f:", "(", ")", ")"]
    );
    assert!(complete);
}

#[test]
fn several_documents_are_read_one_after_the_other() {
    for text in ["{\"a\":\"1\"}\n{\"a\":\"2\"}\n", "{\"a\":\"1\"}{\"a\":\"2\"}"] {
        let mut tokens = JsonTokens::new(text.as_bytes());
        assert_eq!(tokens.by_ref().count(), 8);
        assert!(tokens.is_complete());
    }
}

#[test]
fn a_cut_or_broken_text_gives_what_it_has_and_is_not_complete() {
    assert_eq!(read(r#"{"a": "b", "c": "d"#), (words(&["(", "a:", "b", "c:", "d"]), false));
    assert!(!read(r#"{"a": [REDACTED], "b": {"c": "d"}}"#).1);
    assert!(read(r#"oops {"b": "c"}"#).0.contains(&"c".to_owned()));
    for text in ["", "plain", "123", "{", "[}", "{\"a\"}", "[1 2]", "{\"a\":1,}"] {
        assert!(!read(text).1, "{text}");
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

proptest! {
    #[test]
    fn what_serde_reads_is_complete(text in "[\\[\\]{},:\"a1 \\\\n]{0,24}") {
        let read_by_serde = serde_json::from_str::<serde_json::Value>(&text);
        if read_by_serde.is_ok_and(|value| value.is_object() || value.is_array()) {
            prop_assert!(read(&text).1, "{}", text);
        }
    }

    #[test]
    fn tokens_stand_in_order_and_within_the_text(bytes: Vec<u8>) {
        let mut last = 0;
        for token in JsonTokens::new(&bytes) {
            if let JsonToken::Name(JsonText { range, .. }) | JsonToken::Value(JsonText { range, .. })
                | JsonToken::Scalar(range) = token
            {
                prop_assert!(last <= range.start && range.start <= range.end);
                prop_assert!(range.end <= bytes.len());
                last = range.end;
            }
        }
    }
}

#[test]
fn deep_nesting_takes_no_stack() {
    let text = "[".repeat(1_000_000);
    assert_eq!(JsonTokens::new(text.as_bytes()).count(), 1_000_000);
}
