//! The texts of objects, compressed, and checked against their hashes.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::content_hash::ContentHash;

/// Compresses a text.
///
/// # Errors
/// None that can occur: memory takes every write.
pub fn pack_text(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

/// Returns the text of an object.
///
/// # Errors
/// What is wrong with the object: it is cut, damaged, longer than `limit`, or has another hash.
pub fn unpack_text(packed: &[u8], hash: &ContentHash, limit: u64) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    GzDecoder::new(packed)
        .take(limit.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|error| format!("its bytes are damaged ({error})"))?;
    if text.len() as u64 > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    let found = ContentHash::from_bytes(&text);
    if found != *hash {
        return Err(format!("its bytes have the hash {found}"));
    }
    Ok(text)
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
        assert!(unpack_text(&packed, &hash, 899).unwrap_err().contains("more than 899"));
        assert!(unpack_text(&packed[..20], &hash, 900).unwrap_err().contains("damaged"));
        let other = pack_text(b"other").unwrap();
        assert!(unpack_text(&other, &hash, 900).unwrap_err().contains("have the hash"));
    }
}
