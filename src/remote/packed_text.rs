//! The texts of objects, compressed, and checked against their hashes.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use super::content_hash::ContentHash;

/// The most bytes of an entry's text, whatever its manifest says.
pub(crate) const LARGEST_ENTRY: u64 = 1 << 30;

/// The most bytes of the text of a manifest: about 900,000 takes.
pub(crate) const LARGEST_MANIFEST: u64 = 256 << 20;

/// The most bytes of the entries of a state, as of a recording on disk.
pub(crate) const LARGEST_RECORDING: u64 = 4 << 30;

/// The most bytes of any text.
pub(crate) const LARGEST_TEXT: u64 = LARGEST_ENTRY;

/// The most bytes of a text for each byte of its compressed form.
const LARGEST_RATIO: u64 = 1032;

/// How many bytes of a text are checked at a time.
const PIECE: usize = 64 << 10;

/// Compresses a text.
///
/// # Errors
/// None that can occur: memory takes every write.
pub fn pack_text(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

/// Returns the most bytes that a text of this length can have when it is compressed.
pub(crate) fn packed_limit(text: u64) -> u64 {
    text.saturating_add(text / 64).saturating_add(1 << 10)
}

/// Returns the text of an object.
///
/// # Errors
/// What is wrong with the object: it is cut, damaged, longer than `limit`, or has another hash.
pub fn unpack_text(packed: &[u8], hash: &ContentHash, limit: u64) -> Result<Vec<u8>, String> {
    // Without room for all of it, the vector would be copied while it grows.
    let most = limit.min(packed.len() as u64 * LARGEST_RATIO).saturating_add(1);
    let mut text = Vec::with_capacity(usize::try_from(most).unwrap_or_default());
    GzDecoder::new(packed)
        .take(limit.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|error| describe_damage(&error))?;
    if text.len() as u64 > limit {
        return Err(too_long(limit));
    }
    expect_hash(&ContentHash::from_bytes(&text), hash)?;
    Ok(text)
}

/// Checks an object as [`unpack_text`] does, without its text in memory.
///
/// # Errors
/// Those of [`unpack_text`].
pub fn check_text(packed: &[u8], hash: &ContentHash, limit: u64) -> Result<(), String> {
    let mut text = GzDecoder::new(packed).take(limit.saturating_add(1));
    let (mut found, mut length) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let read = text.read(&mut piece).map_err(|error| describe_damage(&error))?;
        if read == 0 {
            break;
        }
        length += read as u64;
        found.update(&piece[..read]);
    }
    if length > limit {
        return Err(too_long(limit));
    }
    expect_hash(&ContentHash::from_digest(found), hash)
}

fn describe_damage(error: &io::Error) -> String {
    format!("its bytes are damaged ({error})")
}

fn too_long(limit: u64) -> String {
    format!("it has more than {limit} bytes")
}

fn expect_hash(found: &ContentHash, expected: &ContentHash) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("its bytes have the hash {found}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_any_other_is_refused() {
        let text = b"some text".repeat(100);
        let hash = ContentHash::from_bytes(&text);
        let packed = pack_text(&text).unwrap();
        assert_eq!(unpack_text(&packed, &hash, 900).unwrap(), text);
        assert_eq!(check_text(&packed, &hash, 900), Ok(()));
        let other = pack_text(b"other").unwrap();
        for (packed, limit, problem) in [
            (&packed[..], 899, "more than 899"),
            (&packed[..20], 900, "damaged"),
            (&other, 900, "have the hash"),
        ] {
            let refused = unpack_text(packed, &hash, limit).unwrap_err();
            assert!(refused.contains(problem), "{refused}");
            assert_eq!(check_text(packed, &hash, limit), Err(refused));
        }
    }
}
