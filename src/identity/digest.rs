//! SHA-256, written as lower-case hex.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes` as 64 lower-case hex digits.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        let _done = write!(hex, "{byte:02x}");
    }
    hex
}
