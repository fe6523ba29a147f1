//! YAML: values that people write by hand, and cassettes, whose scalars mean what the writing tool
//! meant.

pub(crate) mod composer;
pub(crate) mod node;
mod quoted_lines;
pub(crate) mod scalar;

use std::collections::HashSet;
use std::io::Read;

use granit_parser::Event;
use serde_json::Value;

use composer::{YamlComposer, YamlError};
use node::{NoValue, YamlNode, YamlScalar};
use scalar::ScalarSchema;

/// The memory limit of a text, including its aliases.
const ROOM: usize = 128 << 20;

/// Reads a text that a person wrote as a JSON value.
///
/// # Errors
/// If the text is not YAML, has duplicate keys, contains a second document, or has a value that
/// JSON cannot represent. The error says what is wrong, and where.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    let node = read_document(text).map_err(|error| error.to_string())?;
    if let Some(name) = repeated_name(&node) {
        return Err(format!("the member {name:?} occurs twice in one map"));
    }
    node.into_value(ScalarSchema::HandWritten).map_err(|none| format!("it {}", none.reason()))
}

/// Reads the only document of a file as a JSON value.
///
/// # Errors
/// The outer error if the file is not YAML, the inner one if JSON cannot represent it.
pub(crate) fn value_of(
    input: impl Read,
    schema: ScalarSchema,
) -> Result<Result<Value, NoValue>, YamlError> {
    Ok(read_document(input)?.into_value(schema))
}

/// Returns the only document of a text.
fn read_document(input: impl Read) -> Result<YamlNode, YamlError> {
    let mut composer = YamlComposer::new(input, ROOM);
    let first = loop {
        match composer.next()? {
            Event::StreamStart | Event::DocumentStart(..) => {}
            first => break first,
        }
    };
    if first == Event::StreamEnd {
        return Ok(YamlNode::null());
    }
    let node = composer.compose(first)?;
    loop {
        match composer.next()? {
            Event::StreamEnd => return Ok(node),
            Event::DocumentEnd => {}
            _ => return Err(composer.problem("a second document begins")),
        }
    }
}

/// Returns a key that occurs twice in one map.
pub(crate) fn repeated_name(node: &YamlNode) -> Option<&str> {
    match node {
        YamlNode::Scalar(_) => None,
        YamlNode::List(items, _) => items.iter().find_map(repeated_name),
        YamlNode::Map(members, _) => {
            let mut seen = HashSet::with_capacity(members.len());
            members.iter().find_map(|(name, value)| match name {
                YamlNode::Scalar(YamlScalar { text, .. }) if !seen.insert(text) => Some(&**text),
                _ => repeated_name(value),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_read_as_a_value_of_json() {
        let text = "a: [1, 1.5, true, no, ~, '2', \"3\"]\nb: &x\n  c: |\n    d\ne: *x\n";
        let value = json!({
            "a": [1, 1.5, true, false, null, "2", "3"], "b": { "c": "d\n" }, "e": { "c": "d\n" },
        });
        assert_eq!(parse(text.as_bytes()), Ok(value));
        assert_eq!(parse(b"\xef\xbb\xbf- 1\n"), Ok(json!([1])));
        for nothing in ["", "\n", "# only a comment\n", "---\n", "--- ~\n...\n"] {
            assert_eq!(parse(nothing.as_bytes()), Ok(Value::Null), "{nothing:?}");
        }
    }

    #[test]
    fn what_may_be_a_truth_or_a_number_is_no_text() {
        let text = "[y, Yes, ON, n, no, Off, 012, 1_000, -0_5, 0x1F, 0o17, 1e3, +.5, 00]";
        let value =
            json!([true, true, true, false, false, false, 12, 1000, -5, 31, 15, 1000.0, 0.5, 0]);
        assert_eq!(parse(text.as_bytes()), Ok(value));
        let text = "[yess, 2024-01-01, 1.2.3, a_b, _, 0x, 12:30]";
        let value = json!(["yess", "2024-01-01", "1.2.3", "a_b", "_", "0x", "12:30"]);
        assert_eq!(parse(text.as_bytes()), Ok(value));
        assert_eq!(parse(b"{on: on, 1: 2, no: 3}"), Ok(json!({ "on": true, "1": 2, "no": 3 })));
    }

    #[test]
    fn what_json_cannot_say_is_refused_by_name() {
        let why = |text: &str| parse(text.as_bytes()).expect_err(text);
        assert_eq!(why("a: {b: 1, b: 2}"), "the member \"b\" occurs twice in one map");
        assert!(why("- .inf").contains("a number that JSON cannot represent"));
        assert!(why("- 1\n---\n- 2\n").contains("a second document begins at line 2"));
        assert!(why("- [a").contains("at line"), "{}", why("- [a"));
        assert!(why("- *a").contains("line 1"), "{}", why("- *a"));
        assert!(parse(b"- \xff").expect_err("no UTF-8").contains("UTF-8"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[-a-z0-9:{}\\[\\]&*!|>'\"#~.\n ,?%@]{0,60}") {
            let _value = parse(text.as_bytes());
        }
    }
}
