//! JSON bodies rebuilt from their values.

use serde_json::Value;

use super::json_style::{DEPTH_LIMIT, JsonSpacing, JsonStyle, nesting_depth};

/// A body that was rebuilt from its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuiltBody {
    /// The text.
    pub bytes: Vec<u8>,
    /// Whether it has the length that the original body is said to have had.
    pub fits: bool,
}

/// Writes a value in the first of the usual styles that gives a text of `length` bytes. The text is
/// compact if no length is given, or if no style gives that length.
///
/// Returns `None` for a value that is nested too deeply to be written.
pub fn rebuild_body(value: &Value, length: Option<usize>) -> Option<RebuiltBody> {
    if nesting_depth(value) > DEPTH_LIMIT {
        return None;
    }
    let compact = JsonStyle::PLAIN.value_text(value);
    let Some(length) = length else { return Some(RebuiltBody { bytes: compact, fits: true }) };
    if compact.len() == length {
        return Some(RebuiltBody { bytes: compact, fits: true });
    }
    // Every other style is at least as long as the compact one.
    let usual = if compact.len() < length { &USUAL[..] } else { &[] };
    let fitting = usual.iter().find_map(|(spacing, ascii)| {
        let mut text =
            JsonStyle { spacing: *spacing, ascii: *ascii, newline: false }.value_text(value);
        if text.len() + 1 == length {
            text.push(b'\n');
        }
        (text.len() == length).then_some(text)
    });
    Some(match fitting {
        Some(bytes) => RebuiltBody { bytes, fits: true },
        None => RebuiltBody { bytes: compact, fits: false },
    })
}

/// The styles of SDKs and providers. The likelier ones come first.
const USUAL: [(JsonSpacing, bool); 6] = [
    (JsonSpacing::Spaced, true),
    (JsonSpacing::Spaced, false),
    (JsonSpacing::Pretty, false),
    (JsonSpacing::Pretty, true),
    (JsonSpacing::Compact, true),
    (JsonSpacing::Compact, false),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spelling_is_chosen_by_the_length_that_the_body_had() {
        let value = json!({"a": [1, "é"], "b": {}});
        let texts = [
            "{\"a\":[1,\"é\"],\"b\":{}}",
            "{\"a\":[1,\"é\"],\"b\":{}}\n",
            "{\"a\": [1, \"\\u00e9\"], \"b\": {}}",
            "{\"a\": [1, \"é\"], \"b\": {}}",
            "{\n  \"a\": [\n    1,\n    \"é\"\n  ],\n  \"b\": {}\n}\n",
        ];
        for text in texts {
            let rebuilt = rebuild_body(&value, Some(text.len())).unwrap();
            assert_eq!((std::str::from_utf8(&rebuilt.bytes).unwrap(), rebuilt.fits), (text, true));
        }
        for (length, fits) in [(Some(7), false), (Some(900), false), (None, true)] {
            let rebuilt = rebuild_body(&value, length).unwrap();
            assert_eq!((rebuilt.bytes.as_slice(), rebuilt.fits), (texts[0].as_bytes(), fits));
        }
    }

    #[test]
    fn value_that_is_nested_too_deeply_is_not_written() {
        let deep = (0..=DEPTH_LIMIT).fold(json!(1), |value, _| json!([value]));
        assert_eq!(rebuild_body(&deep, None), None);
    }
}
