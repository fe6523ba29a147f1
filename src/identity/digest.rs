//! SHA-256, written as lower-case hex.

use sha2::{Digest, Sha256};

/// A SHA-256 as 64 lower-case hex digits.
pub(super) type HexDigest = [u8; 64];

const HEX: &[u8; 16] = b"0123456789abcdef";

/// SHA-256 of `bytes` in lower-case hex.
pub(super) fn sha256_hex(bytes: &[u8]) -> HexDigest {
    to_hex(&Sha256::digest(bytes).into())
}

/// SHA-256 of `bytes` as text, in lower-case hex.
pub fn sha256_text(bytes: &[u8]) -> String {
    as_text(&sha256_hex(bytes)).to_owned()
}

/// Returns a digest as text, in lower-case hex.
pub fn digest_text(digest: &[u8; 32]) -> String {
    as_text(&to_hex(digest)).to_owned()
}

/// A digest in lower-case hex.
pub(super) fn to_hex(digest: &[u8; 32]) -> HexDigest {
    let mut hex = [0; 64];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
    }
    hex
}

/// The digest that lower-case hex digits encode.
pub(super) fn to_bytes(hex: &HexDigest) -> [u8; 32] {
    let value = |digit: u8| if digit <= b'9' { digit & 0xf } else { (digit & 0xf) + 9 };
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(hex.as_chunks::<2>().0) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    digest
}

/// The digits as text.
pub(super) fn as_text(hex: &HexDigest) -> &str {
    // Hex digits are ASCII.
    std::str::from_utf8(hex).unwrap_or_default()
}
