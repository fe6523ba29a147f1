//! Content encodings: what a compressed body says in plain bytes.

use std::io::Read;

/// The plain bytes of a body that was sent under `content-encoding: encoding`.
///
/// Returns `None` for an encoding we do not know, for bytes that do not decode,
/// and for more than `max` plain bytes. `identity` and the empty text give the
/// bytes back.
pub fn decode(encoding: &str, bytes: &[u8], max: usize) -> Option<Vec<u8>> {
    let mut plain = bytes.to_vec();
    // Codings are listed in the order they were applied.
    for coding in encoding.split(',').rev() {
        plain = match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => plain,
            "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(plain.as_slice()), max)?,
            "deflate" => read(flate2::read::ZlibDecoder::new(plain.as_slice()), max)
                .or_else(|| read(flate2::read::DeflateDecoder::new(plain.as_slice()), max))?,
            "br" => read(brotli_decompressor::Decompressor::new(plain.as_slice(), 4096), max)?,
            "zstd" => read(ruzstd::decoding::StreamingDecoder::new(plain.as_slice()).ok()?, max)?,
            _ => return None,
        };
    }
    Some(plain)
}

/// As much of [`decode`]'s plain bytes as can be had of a body that is cut or
/// damaged: everything before the damage. `None` for an encoding we do not know.
pub fn decode_start(encoding: &str, bytes: &[u8], max: usize) -> Option<Vec<u8>> {
    let start = |decoder: &mut dyn Read| {
        let mut plain = Vec::new();
        // What was read before an error stays in `plain`.
        let _damage = decoder.take(max as u64).read_to_end(&mut plain);
        plain
    };
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Some(bytes.to_vec()),
        "gzip" | "x-gzip" => Some(start(&mut flate2::read::MultiGzDecoder::new(bytes))),
        "deflate" => Some(start(&mut flate2::read::ZlibDecoder::new(bytes))),
        "br" => Some(start(&mut brotli_decompressor::Decompressor::new(bytes, 4096))),
        "zstd" => ruzstd::decoding::StreamingDecoder::new(bytes).ok().map(|mut d| start(&mut d)),
        _ => None,
    }
}

/// Whether a client that sent this `accept-encoding` takes `encoding`.
pub fn accepts(accept_encoding: Option<&str>, encoding: &str) -> bool {
    let accepted = accept_encoding.unwrap_or_default();
    encoding.split(',').map(str::trim).all(|coding| {
        coding.is_empty()
            || coding.eq_ignore_ascii_case("identity")
            || accepted.split(',').any(|offer| {
                let mut parts = offer.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let refused =
                    parts.any(|part| part.replace(' ', "").trim_end_matches(['0', '.']) == "q=");
                (name.eq_ignore_ascii_case(coding) || name == "*") && !refused
            })
    })
}

/// Everything a decoder gives, if that is at most `max` bytes.
fn read(decoder: impl Read, max: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    decoder.take(max as u64 + 1).read_to_end(&mut plain).ok()?;
    (plain.len() <= max).then_some(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_decodes_and_damage_does_not() {
        let packed = gzip(b"hello hello hello");
        assert_eq!(decode("gzip", &packed, 100).as_deref(), Some(&b"hello hello hello"[..]));
        assert_eq!(decode("gzip", &packed[..packed.len() - 9], 100), None);
        assert_eq!(decode("gzip", &packed, 5), None);
    }

    #[test]
    fn start_of_a_cut_body_is_what_came_before_the_cut() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let packed = gzip(&text);
        let start = decode_start("gzip", &packed[..packed.len() / 2], 1 << 20).unwrap();
        assert!(start.len() > 1000 && text.starts_with(&start), "{}", start.len());
        assert_eq!(decode_start("snappy", &packed, 1 << 20), None);
    }

    #[test]
    fn unknown_coding_is_left_alone() {
        assert_eq!(decode("snappy", b"x", 10), None);
        assert_eq!(decode("", b"x", 10).as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn acceptance_follows_names_and_zero_quality() {
        assert!(accepts(Some("gzip, deflate"), "gzip"));
        assert!(accepts(Some("*"), "br"));
        assert!(!accepts(Some("gzip;q=0, br"), "gzip"));
        assert!(accepts(Some("gzip;q=0.5"), "gzip"));
        assert!(!accepts(None, "gzip"));
        assert!(accepts(None, "identity"));
    }
}
