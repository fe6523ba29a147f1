//! Encoded pieces, and the chain of decoders that reads them.

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::brotli::BrotliDecoder;
use super::flate::{DeflateDecoder, GzipDecoder};
use super::zstd_frames::ZstdDecoder;
use super::{ContentCoding, DecodeError, HELD, PlainPiece};

/// The size of the buffer between two decoders, in bytes.
const BUFFER: usize = 4096;

/// How many bytes an inner coding may have beyond the limit of plain bytes. A compressed form is
/// not much longer than its plain text.
const INNER: usize = 1 << 20;

/// The output of the decoders.
pub(super) struct DecodedPieces {
    /// The plain bytes before the problem.
    pub(super) pieces: Vec<PlainPiece>,
    /// Why not all of the input was decoded.
    pub(super) problem: Option<DecodeError>,
}

/// Encoded pieces that are to be decoded.
pub(super) struct EncodedPieces<'a> {
    pieces: &'a [&'a [u8]],
    /// The index of the last piece that was read.
    reached: Cell<usize>,
    /// The worst problem of any decoder.
    problem: Cell<Option<DecodeError>>,
}

impl<'a> EncodedPieces<'a> {
    pub(super) fn from_pieces(pieces: &'a [&'a [u8]]) -> Self {
        Self { pieces, reached: Cell::new(0), problem: Cell::new(None) }
    }

    /// Decodes all pieces, up to `max` bytes.
    pub(super) fn decode_all(&self, codings: &[ContentCoding], max: usize) -> DecodedPieces {
        let held = max.min(HELD);
        let (pieces, total) = self.read_pieces(codings, max, held);
        let is_too_large = self.problem.get() == Some(DecodeError::TooLarge);
        let pieces = match total > held && !is_too_large {
            true => self.read_pieces(codings, max, max).0,
            false => pieces,
        };
        DecodedPieces { pieces, problem: self.problem.get() }
    }

    /// Decodes all pieces, and counts the plain bytes. Returns no bytes if there are more than
    /// `held`.
    fn read_pieces(
        &self,
        codings: &[ContentCoding],
        max: usize,
        held: usize,
    ) -> (Vec<PlainPiece>, usize) {
        self.reached.set(0);
        self.problem.set(None);
        let mut reader = self.decoder_chain(codings, max);
        let (mut out, mut total): (Vec<PlainPiece>, usize) = (Vec::new(), 0);
        loop {
            let data = match reader.fill_buf() {
                Ok([]) => break,
                Ok(data) => data,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => {
                    self.note_problem(DecodeError::Damaged);
                    break;
                }
            };
            let length = data.len();
            total += length;
            if total <= held {
                let of = self.reached.get();
                match out.last_mut() {
                    Some(last) if last.of == of => last.data.extend_from_slice(data),
                    _ => out.push(PlainPiece { of, data: data.to_vec() }),
                }
            } else {
                out = Vec::new();
            }
            reader.consume(length);
        }
        (out, total)
    }

    /// Builds the chain of decoders. None holds more than its window.
    fn decoder_chain(&self, codings: &[ContentCoding], max: usize) -> Box<dyn BufRead + '_> {
        let mut reader: Box<dyn BufRead + '_> =
            Box::new(PieceReader { source: self, at: 0, offset: 0 });
        for (at, coding) in codings.iter().enumerate() {
            let decoder: Box<dyn Read + '_> = match coding {
                ContentCoding::Gzip => Box::new(GzipDecoder::new(reader)),
                ContentCoding::Zlib => Box::new(DeflateDecoder::new(reader, true)),
                ContentCoding::Deflate => Box::new(DeflateDecoder::new(reader, false)),
                ContentCoding::Brotli => Box::new(BrotliDecoder::new(reader)),
                ContentCoding::Zstandard => Box::new(ZstdDecoder::new(reader)),
            };
            let is_last = at + 1 == codings.len();
            let left = if is_last { max } else { max.saturating_add(INNER) };
            let layer = DecoderLayer { source: self, decoder, left, is_over: false };
            reader = Box::new(BufReader::with_capacity(BUFFER, layer));
        }
        reader
    }

    /// Records a problem. A cut is the least severe one.
    fn note_problem(&self, problem: DecodeError) {
        if matches!(self.problem.get(), None | Some(DecodeError::Cut)) {
            self.problem.set(Some(problem));
        }
    }
}

/// One decoder. A problem ends it, so that its reader can decode everything that came before.
struct DecoderLayer<'s, 'a> {
    source: &'s EncodedPieces<'a>,
    decoder: Box<dyn Read + 's>,
    /// How many more bytes it may return.
    left: usize,
    is_over: bool,
}

impl Read for DecoderLayer<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.is_over {
            return Ok(0);
        }
        let problem = match self.decoder.read(buffer) {
            Ok(length) if length <= self.left => {
                self.left -= length;
                self.is_over = length == 0;
                return Ok(length);
            }
            Ok(_) => DecodeError::TooLarge,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => return Err(error),
                ErrorKind::UnexpectedEof => DecodeError::Cut,
                _ => DecodeError::Damaged,
            },
        };
        self.is_over = true;
        self.source.note_problem(problem);
        Ok(0)
    }
}

/// Reads one piece at a time, and records its index.
struct PieceReader<'s, 'a> {
    source: &'s EncodedPieces<'a>,
    at: usize,
    offset: usize,
}

impl BufRead for PieceReader<'_, '_> {
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

impl Read for PieceReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let data = self.fill_buf()?;
        let length = data.len().min(buffer.len());
        buffer[..length].copy_from_slice(&data[..length]);
        self.consume(length);
        Ok(length)
    }
}
