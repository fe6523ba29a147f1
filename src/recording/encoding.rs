//! Content encodings: what a compressed body says in plain bytes.

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// The most plain bytes that a reader of recordings decodes a body to. It equals the
/// recorder's default limit for an answer.
pub const LARGEST: usize = 64 << 20;

/// Plain bytes that are held before it is known how many there are. A body that has
/// more is decoded twice: to see that it is not too large, and to hold it.
const HELD: usize = 8 << 20;

/// The most plain bytes for each encoded one, above [`HELD`]: more than gzip can have.
const RATIO: usize = 4096;

/// How many codings may be applied one upon the other.
const CODINGS: usize = 4;

/// Why a body has no plain bytes. Shown behind "the body".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecoded {
    /// Its coding is not one of ours, or there are too many of them.
    #[error("has a content-encoding that is not known")]
    Unknown,
    /// The bytes do not decode.
    #[error("does not decode as its content-encoding says")]
    Damaged,
    /// There are more plain bytes than are wanted.
    #[error("decodes to more bytes than are looked at ({} MiB)", LARGEST >> 20)]
    TooLarge,
}

/// The plain bytes of a body that was sent under `content-encoding: encoding`.
///
/// Returns `None` for an encoding we do not know, for bytes that do not decode,
/// and for more than `max` plain bytes. `identity` and the empty text give the
/// bytes back.
pub fn decode(encoding: &str, bytes: &[u8], max: usize) -> Option<Vec<u8>> {
    try_decode(encoding, bytes, max).ok()
}

/// The same, with the reason where there are none.
///
/// # Errors
/// Why there are no plain bytes, or no more than `max`.
pub fn try_decode(encoding: &str, bytes: &[u8], max: usize) -> Result<Vec<u8>, Undecoded> {
    let mut pieces = try_decode_pieces(encoding, &[bytes], max)?;
    match pieces.len() {
        // All of it, without a copy.
        1 => Ok(pieces.swap_remove(0).data),
        _ => Ok(pieces.into_iter().flat_map(|piece| piece.data).collect()),
    }
}

/// Some plain bytes, and which of the encoded pieces completed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The index of the encoded piece.
    pub of: usize,
    /// The plain bytes.
    pub data: Vec<u8>,
}

/// [`decode`] for a body that came in pieces: the plain bytes in order, each as early
/// as the encoded bytes before it give it. A piece that completes nothing has no
/// plain one. Zstandard's plain bytes may come later than they could.
pub fn decode_pieces(encoding: &str, pieces: &[&[u8]], max: usize) -> Option<Vec<Piece>> {
    try_decode_pieces(encoding, pieces, max).ok()
}

/// The same, with the reason where there are none.
///
/// # Errors
/// Why there are no plain bytes, or no more than `max`.
pub fn try_decode_pieces(
    encoding: &str,
    pieces: &[&[u8]],
    max: usize,
) -> Result<Vec<Piece>, Undecoded> {
    let codings = codings(encoding)?;
    if codings.is_empty() {
        let piece = |(of, data): (usize, &&[u8])| Piece { of, data: data.to_vec() };
        return Ok(pieces.iter().enumerate().map(piece).collect());
    }
    let encoded: usize = pieces.iter().map(|piece| piece.len()).sum();
    let max = max.min(encoded.saturating_mul(RATIO).max(HELD));
    let decoded = Source::of(pieces).decode(&codings, max);
    // Two formats go by the name of deflate.
    if decoded == Err(Undecoded::Damaged) && codings.contains(&Coding::Zlib) {
        let raw = |coding: &Coding| match coding {
            Coding::Zlib => Coding::Deflate,
            other => *other,
        };
        let codings: Vec<Coding> = codings.iter().map(raw).collect();
        return Source::of(pieces).decode(&codings, max);
    }
    decoded
}

/// A coding that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Zlib,
    Deflate,
    Brotli,
    Zstandard,
}

/// The codings of a header, the one that was applied last first.
fn codings(encoding: &str) -> Result<Vec<Coding>, Undecoded> {
    let mut codings = Vec::new();
    // They are listed in the order they were applied.
    for coding in encoding.split(',').rev() {
        codings.push(match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Zlib,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstandard,
            _ => return Err(Undecoded::Unknown),
        });
        if codings.len() > CODINGS {
            return Err(Undecoded::Unknown);
        }
    }
    Ok(codings)
}

/// Pieces to be decoded.
struct Source<'a> {
    pieces: &'a [&'a [u8]],
    /// The place of the last of them that was looked at.
    reached: Cell<usize>,
}

impl<'a> Source<'a> {
    fn of(pieces: &'a [&'a [u8]]) -> Self {
        Self { pieces, reached: Cell::new(0) }
    }

    /// All that the decoders give, if that is at most `max` bytes.
    fn decode(&self, codings: &[Coding], max: usize) -> Result<Vec<Piece>, Undecoded> {
        match self.read(codings, max, max.min(HELD))? {
            Some(pieces) => Ok(pieces),
            None => Ok(self.read(codings, max, max)?.unwrap_or_default()),
        }
    }

    /// The same; `None` where it is more than `held` bytes.
    fn read(
        &self,
        codings: &[Coding],
        max: usize,
        held: usize,
    ) -> Result<Option<Vec<Piece>>, Undecoded> {
        self.reached.set(0);
        let mut reader = self.reader(codings)?;
        let (mut out, mut total): (Vec<Piece>, usize) = (Vec::new(), 0);
        loop {
            let data = match reader.fill_buf() {
                Ok([]) => return Ok((total <= held).then_some(out)),
                Ok(data) => data,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Err(Undecoded::Damaged),
            };
            let length = data.len();
            total += length;
            if total > max {
                return Err(Undecoded::TooLarge);
            }
            if total <= held {
                let of = self.reached.get();
                match out.last_mut() {
                    Some(last) if last.of == of => last.data.extend_from_slice(data),
                    _ => out.push(Piece { of, data: data.to_vec() }),
                }
            } else {
                out = Vec::new();
            }
            reader.consume(length);
        }
    }

    /// The decoders one behind the other: none holds more than its window.
    fn reader(&self, codings: &[Coding]) -> Result<Box<dyn BufRead + '_>, Undecoded> {
        let mut reader: Box<dyn BufRead + '_> = Box::new(Reader { source: self, at: 0, offset: 0 });
        for coding in codings {
            let decoder: Box<dyn Read + '_> = match coding {
                Coding::Gzip => Box::new(MultiGzDecoder::new(reader)),
                Coding::Zlib => Box::new(ZlibDecoder::new(reader)),
                Coding::Deflate => Box::new(DeflateDecoder::new(reader)),
                Coding::Brotli => Box::new(Decompressor::new(reader, BUFFER)),
                Coding::Zstandard => {
                    Box::new(StreamingDecoder::new(reader).map_err(|_| Undecoded::Damaged)?)
                }
            };
            reader = Box::new(BufReader::with_capacity(BUFFER, decoder));
        }
        Ok(reader)
    }
}

/// Bytes between two decoders.
const BUFFER: usize = 4096;

/// Gives one piece at a time, and notes which.
struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    at: usize,
    offset: usize,
}

impl BufRead for Reader<'_, '_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        while let Some(piece) = self.source.pieces.get(self.at) {
            if self.offset < piece.len() {
                self.source.reached.set(self.at);
                return Ok(&piece[self.offset..]);
            }
            (self.at, self.offset) = (self.at + 1, 0);
        }
        Ok(&[])
    }

    fn consume(&mut self, amount: usize) {
        self.offset += amount;
    }
}

impl Read for Reader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let data = self.fill_buf()?;
        let length = data.len().min(buffer.len());
        buffer[..length].copy_from_slice(&data[..length]);
        self.consume(length);
        Ok(length)
    }
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
        "gzip" | "x-gzip" => Some(start(&mut MultiGzDecoder::new(bytes))),
        // As `decode` has it: with zlib's header, or bare.
        "deflate" => Some(start(&mut ZlibDecoder::new(bytes)))
            .filter(|plain| !plain.is_empty())
            .or_else(|| Some(start(&mut DeflateDecoder::new(bytes)))),
        "br" => Some(start(&mut Decompressor::new(bytes, 4096))),
        "zstd" => StreamingDecoder::new(bytes).ok().map(|mut d| start(&mut d)),
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
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
    fn each_piece_gives_what_it_completes() {
        let texts = ["one, ", "two, ", "three"];
        for cut in [0, 3, 9] {
            // Flushed behind each text, as a server does that streams.
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            let mut ends = vec![];
            for text in texts {
                encoder.write_all(text.as_bytes()).unwrap();
                encoder.flush().unwrap();
                ends.push(encoder.get_ref().len());
            }
            let packed = encoder.finish().unwrap();
            let cuts = [0, ends[0] - cut, ends[1], ends[2], packed.len()];
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|at| &packed[at[0]..at[1]]).collect();
            let plain = decode_pieces("gzip", &pieces, 100).unwrap();
            let all: Vec<u8> = plain.iter().flat_map(|piece| piece.data.clone()).collect();
            assert_eq!(all, b"one, two, three");
            let last = plain.last().unwrap();
            assert_eq!((last.of, last.data.as_slice()), (2, &b"three"[..]));
            if cut == 0 {
                assert_eq!(plain[0], Piece { of: 0, data: b"one, ".to_vec() });
            } else {
                assert_eq!(
                    plain.iter().find(|piece| piece.data.ends_with(b"two, ")).unwrap().of,
                    1
                );
            }
            assert_eq!(decode_pieces("gzip", &pieces[..2], 100), None);
            assert_eq!(decode_pieces("gzip", &pieces, 14), None);
        }
        let plain = decode_pieces("identity", &[b"a", b"", b"b"], 9).unwrap();
        assert_eq!(plain.iter().map(|piece| piece.of).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn codings_upon_each_other_decode_and_bombs_do_not() {
        let text = b"hello ".repeat(100);
        let twice = gzip(&gzip(&text));
        assert_eq!(decode("gzip, gzip", &twice, 1000).as_deref(), Some(&text[..]));
        let many = "gzip, ".repeat(9);
        assert_eq!(try_decode(&many, &twice, 1000), Err(Undecoded::Unknown));
        let member = gzip(&vec![0; 4 << 20]);
        let bomb: Vec<u8> = member.repeat(32);
        assert_eq!(try_decode("gzip", &bomb, LARGEST), Err(Undecoded::TooLarge));
        assert_eq!(try_decode("gzip, gzip", &gzip(&bomb), LARGEST), Err(Undecoded::TooLarge));
        let large = member.repeat(3);
        assert_eq!(decode("gzip", &large, LARGEST).map(|plain| plain.len()), Some(12 << 20));
        assert_eq!(try_decode("gzip", &large[..large.len() - 9], LARGEST), Err(Undecoded::Damaged));
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
    fn start_of_a_cut_body_is_found_in_bare_deflate_as_well() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(decode_start("deflate", &packed, 1 << 20).as_deref(), Some(&text[..]));
        let start = decode_start("deflate", &packed[..packed.len() / 2], 1 << 20).unwrap();
        assert!(start.len() > 1000 && text.starts_with(&start), "{}", start.len());
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
