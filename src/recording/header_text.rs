//! Values of headers as text, from which every byte comes back.
//!
//! HTTP allows any byte from 128 on in a value, and some servers write file names in Latin-1. A
//! recording is JSON, so a byte that is not UTF-8 becomes a character of the private use area:
//! U+F700 plus the byte. Such a character in a value is written so, too, byte by byte.

use std::borrow::Cow;

/// The character of the byte 0.
const FIRST: u32 = 0xF700;
/// The characters that are bytes from 128 on.
const BYTES: std::ops::RangeInclusive<char> = '\u{F780}'..='\u{F7FF}';

/// Returns the text of a value.
pub fn header_text(value: &[u8]) -> Cow<'_, str> {
    if value.is_ascii() {
        return String::from_utf8_lossy(value);
    }
    let mut text = String::with_capacity(value.len());
    for part in value.utf8_chunks() {
        for letter in part.valid().chars() {
            match BYTES.contains(&letter) {
                true => letter.encode_utf8(&mut [0; 4]).bytes().for_each(|it| push(&mut text, it)),
                false => text.push(letter),
            }
        }
        part.invalid().iter().for_each(|byte| push(&mut text, *byte));
    }
    Cow::Owned(text)
}

fn push(text: &mut String, byte: u8) {
    text.extend(char::from_u32(FIRST + u32::from(byte)));
}

/// Returns the bytes of the value that has this text.
pub fn header_bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(|letter| BYTES.contains(&letter)) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        let byte = u8::try_from(u32::from(letter).wrapping_sub(FIRST)).ok();
        match byte.filter(|_| BYTES.contains(&letter)) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_shows_what_is_utf_8() {
        assert_eq!(header_text("café, 100 €".as_bytes()), "café, 100 €");
        assert_eq!(header_text(b"caf\xe9.pdf"), "caf\u{F7E9}.pdf");
        assert_eq!(header_text("\u{F7E9}".as_bytes()), "\u{F7EF}\u{F79F}\u{F7A9}");
    }

    proptest! {
        #[test]
        fn every_byte_comes_back(value: Vec<u8>) {
            let text = header_text(&value);
            prop_assert_eq!(&header_bytes(&text)[..], &value[..]);
        }
    }
}
