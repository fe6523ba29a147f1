//! Values that formats write in several ways: base64, and strings of bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{GeneralPurposeConfig, STANDARD_NO_PAD};
use serde::de::{Deserialize, Deserializer, Visitor};

/// Decodes base64 in all its variants: over several lines, with or without padding, in the alphabet
/// for URLs.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    let standard = |character: char| match character {
        '-' => '+',
        '_' => '/',
        other => other,
    };
    let packed: String =
        text.chars().filter(|character| !character.is_ascii_whitespace()).map(standard).collect();
    engine.decode(&packed).or_else(|_| STANDARD_NO_PAD.decode(&packed)).ok()
}

/// A JSON string whose bytes need not be Unicode. Python writes a byte that it cannot decode as a
/// lone surrogate. Here it becomes that byte again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LenientString(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for LenientString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(LenientVisitor)
    }
}

struct LenientVisitor;

impl Visitor<'_> for LenientVisitor {
    type Value = LenientString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LenientString, E> {
        Ok(LenientString(without_surrogates(bytes.to_vec())))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<LenientString, E> {
        Ok(LenientString(without_surrogates(bytes)))
    }

    fn visit_unit<E>(self) -> Result<LenientString, E> {
        Ok(LenientString::default())
    }
}

/// Replaces each lone surrogate U+DC80 to U+DCFF (three bytes) by the byte that it stands for.
fn without_surrogates(bytes: Vec<u8>) -> Vec<u8> {
    if std::str::from_utf8(&bytes).is_ok() {
        return bytes;
    }
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        match bytes[at..] {
            [0xED, high @ 0xB2..=0xB3, low @ 0x80..=0xBF, ..] => {
                out.push(((high & 0x03) << 6) | (low & 0x3F));
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "lenient_tests.rs"]
mod tests;
