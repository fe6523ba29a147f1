//! Text that is made to be invalid JSON.

use serde::de::IgnoredAny;

/// Returns at most half of a text, cut between two characters, so that it does not parse.
pub(super) fn cut_text(text: &str) -> String {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at));
    let (half, _) = text.split_at(middle.unwrap_or(0));
    let parses = serde_json::from_str::<IgnoredAny>(half).is_ok();
    if half.is_empty() || parses { format!("{{{half}") } else { half.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn text_is_cut_in_its_middle() {
        assert_eq!(cut_text(r#"{"city":"Paris"}"#), r#"{"city":"#);
        assert_eq!(cut_text("1234"), "{12");
        assert_eq!(cut_text("\u{2603}"), "{");
        assert_eq!(cut_text(""), "{");
    }

    proptest! {
        #[test]
        fn what_is_broken_never_parses(text in r#"[\[\]{}"0-9:, ntru]{0,12}|.{0,9}"#) {
            prop_assert!(serde_json::from_str::<Value>(&cut_text(&text)).is_err());
        }
    }
}
