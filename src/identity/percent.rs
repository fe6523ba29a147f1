//! One spelling of percent-encodings that RFC 3986 (6.2.2) calls equal: the hex digits are in upper
//! case, and letters, digits, `-`, `.`, `_` and `~` are not encoded.

use std::borrow::Cow;

/// Returns the one spelling of a path or a query. A text with a `%` that encodes nothing stays as it
/// is.
pub(super) fn one_spelling(text: &str) -> Cow<'_, str> {
    match text.contains('%') {
        true => respell_escapes(text).map_or(Cow::Borrowed(text), Cow::Owned),
        false => Cow::Borrowed(text),
    }
}

fn respell_escapes(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('%');
    out.push_str(parts.next()?);
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)? {
            byte if is_unreserved(byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
        out.push_str(rest);
    }
    Some(out)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_encodings_have_one_spelling_and_others_stay_apart() {
        for (text, spelling) in [
            ("/v1/a%2fb%3A", "/v1/a%2Fb%3A"),
            ("/v1/%67pt%2D4%7e", "/v1/gpt-4~"),
            ("/a/b:c", "/a/b:c"),
            ("/a/b%3ac", "/a/b%3Ac"),
            ("/%e2%98%83/%C3%A9", "/%E2%98%83/%C3%A9"),
            ("/100%", "/100%"),
            ("/%zz/%41", "/%zz/%41"),
            ("/%é4", "/%é4"),
            ("/%+1", "/%+1"),
            ("/%2541", "/%2541"),
        ] {
            assert_eq!(one_spelling(text), spelling);
        }
    }

    proptest! {
        #[test]
        fn spelling_decodes_to_the_same_bytes_and_is_kept(text in "[a%0-9A-F:/é]{0,24}") {
            let spelling = one_spelling(&text).into_owned();
            let bytes = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
            prop_assert_eq!(bytes(&spelling), bytes(&text));
            prop_assert_eq!(one_spelling(&spelling).into_owned(), spelling);
        }
    }
}
