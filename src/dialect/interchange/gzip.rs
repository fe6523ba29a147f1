//! Files that are compressed as a whole.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// The first bytes of a file of gzip.
const MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Returns a file as it is without the compression of gzip.
///
/// # Errors
/// If the file cannot be read.
pub fn without_gzip<'a>(mut input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut beginning = Vec::new();
    input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut beginning)?;
    let is_packed = beginning == MAGIC;
    let whole = Cursor::new(beginning).chain(input);
    Ok(if is_packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn file_is_unpacked_if_it_is_packed() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"hello").unwrap();
        for bytes in [packed.finish().unwrap(), b"hello".to_vec()] {
            let mut text = String::new();
            without_gzip(Box::new(&bytes[..])).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");
        }
    }
}
