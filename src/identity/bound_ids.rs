//! Ids in the text of a bound request: the numbers that they are compared by, and the forms of ids of
//! calls.

use std::collections::HashMap;

/// The most characters of an id that every provider takes.
const LONGEST_PLAIN: usize = 64;

/// The numbers of the ids of a request so far.
#[derive(Default)]
pub(super) struct IdNumbers {
    numbers: HashMap<(String, String), usize>,
    /// The last number of each kind.
    last: HashMap<String, usize>,
}

impl IdNumbers {
    /// Returns the number of an id of this kind: that of its first appearance.
    pub(super) fn number_of(&mut self, kind: &str, text: &str) -> usize {
        let last = self.last.entry(kind.to_owned()).or_default();
        *self.numbers.entry((kind.to_owned(), text.to_owned())).or_insert_with(|| {
            *last += 1;
            *last
        })
    }
}

/// The form of an id of a call of a tool. An id answers for a recorded one of the same form only:
/// a provider that took the one takes the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallIdForm {
    /// At most [`LONGEST_PLAIN`] letters, digits, `-` and `_`.
    Plain,
    /// A longer id, or one with other characters, as gateways and frameworks make it:
    /// `call_1|fc_2`, `functions.weather:0`.
    Other,
}

impl CallIdForm {
    /// Returns the form of an id. `None` for a text that is no id: it is empty, or has blanks, control
    /// characters or characters beyond ASCII.
    pub(super) fn from_id(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        Some(match text.len() <= LONGEST_PLAIN && text.bytes().all(is_plain) {
            true => Self::Plain,
            false => Self::Other,
        })
    }

    /// Returns the name of the form in the text of a request.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "reference",
            Self::Other => "other reference",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_providers_are_plain() {
        for id in [
            "toolu_01A09q90qw90lq917835lq9",
            "srvtoolu_01WYG3ziw53XMcoyKL4XcZmE",
            "call_abc123DEF456ghi789JKL012",
            "chatcmpl-tool-2e4f9b1c0d8a4f6e9b7c5d3a1f0e8d6c",
            "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
            "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
            "D681PevKs",
            "weather_0w1cz8j3k2m4",
            "0",
        ] {
            assert_eq!(CallIdForm::from_id(id), Some(CallIdForm::Plain), "{id}");
        }
    }

    #[test]
    fn ids_of_gateways_have_another_form_and_some_texts_are_no_ids() {
        let long = "x".repeat(LONGEST_PLAIN + 1);
        for id in ["call_1|fc_2", "functions.get_weather:0", "c2lnbmF0dXJl+/==", &long] {
            assert_eq!(CallIdForm::from_id(id), Some(CallIdForm::Other), "{id}");
        }
        for text in ["", "\n", " ", "call 1", "é", "call_1\u{0}"] {
            assert_eq!(CallIdForm::from_id(text), None, "{text:?}");
        }
    }
}
