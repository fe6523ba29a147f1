//! Zstandard (RFC 8878): consecutive frames, including skippable ones.

use std::io::{BufRead, Error, Read, Result};

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::ending::{cut_error, damaged_error, is_at_end};
use super::flate::skip_bytes;

/// The upper three bytes of the magic numbers of skippable frames.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// An empty block that ends its frame, and a checksum that is not verified.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// The size of a block's header in bytes.
const BLOCK_HEADER: usize = 3;

/// A decoder of zstandard frames.
pub(super) struct ZstdDecoder<R> {
    input: R,
    decoder: FrameDecoder,
    place: FramePosition,
}

/// The position of the reader.
enum FramePosition {
    Start,
    WithinFrame,
    BetweenFrames,
    /// After a problem. What was decoded before it still has to be returned, except for the last
    /// `padded` bytes.
    Failed {
        problem: Error,
        padded: usize,
    },
}

impl<R: BufRead> ZstdDecoder<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, decoder: FrameDecoder::new(), place: FramePosition::Start }
    }

    /// Reads the header of a frame, or skips a skippable one.
    fn begin_frame(&mut self) -> Result<()> {
        let first = self.input.fill_buf()?.first();
        if !first.is_some_and(|first| matches!(first, 0x28 | 0x50..=0x5f)) {
            return Err(damaged_error());
        }
        let mut magic = [0; 4];
        self.input.read_exact(&mut magic)?;
        self.place = FramePosition::BetweenFrames;
        if magic[1..] == SKIPPABLE {
            let mut length = [0; 4];
            self.input.read_exact(&mut length)?;
            return skip_bytes(&mut self.input, u32::from_le_bytes(length).into());
        }
        match self.decoder.reset((&magic[..]).chain(&mut self.input)) {
            Ok(()) => self.place = FramePosition::WithinFrame,
            Err(_) if self.input.fill_buf()?.is_empty() => return Err(cut_error()),
            Err(_) => return Err(damaged_error()),
        }
        Ok(())
    }

    /// Decodes one block. After a problem, the decoder returns what its window still holds.
    fn decode_block(&mut self) {
        let mut source = Watched::new(&mut self.input);
        let decoded = self.decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1));
        let problem = match &decoded {
            Ok(_) if source.padded == 0 => return,
            Ok(_) | Err(FrameDecoderError::FailedToReadChecksum(_)) if source.has_ended => {
                cut_error()
            }
            // The existing part of a compressed block was not decoded.
            Err(_) if source.has_ended && source.given <= BLOCK_HEADER => cut_error(),
            _ => damaged_error(),
        };
        let padded = source.padded;
        if decoded.is_err() || !self.decoder.is_finished() {
            let ended = BlockDecodingStrategy::UptoBlocks(1);
            let _unneeded = self.decoder.decode_blocks(&LAST_BLOCK[..], ended);
        }
        self.place = FramePosition::Failed { problem, padded };
    }

    /// Whether the checksum at the end of the frame matches the decoded bytes.
    fn is_sound(&self) -> bool {
        let said = self.decoder.get_checksum_from_data();
        said.is_none() || said == self.decoder.get_calculated_checksum()
    }
}

impl<R: BufRead> Read for ZstdDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while !buffer.is_empty() {
            match &self.place {
                FramePosition::BetweenFrames if is_at_end(&mut self.input)? => return Ok(0),
                FramePosition::Start | FramePosition::BetweenFrames => self.begin_frame()?,
                FramePosition::WithinFrame if self.decoder.can_collect() > 0 => {
                    return self.decoder.read(buffer);
                }
                FramePosition::WithinFrame if !self.decoder.is_finished() => self.decode_block(),
                FramePosition::WithinFrame if self.is_sound() => {
                    self.place = FramePosition::BetweenFrames
                }
                FramePosition::WithinFrame => return Err(damaged_error()),
                FramePosition::Failed { problem, padded } => {
                    let left = self.decoder.can_collect().saturating_sub(*padded);
                    let length = left.min(buffer.len());
                    if length == 0 {
                        return Err(problem.kind().into());
                    }
                    return self.decoder.read(&mut buffer[..length]);
                }
            }
        }
        Ok(0)
    }
}

/// The input of one block. It records where the input ended. An uncompressed block that was cut is
/// padded with zeros, so that its bytes are decoded as far as they exist.
struct Watched<R> {
    input: R,
    header: [u8; BLOCK_HEADER],
    /// The number of bytes that came from the input.
    given: usize,
    /// The number of bytes that were padded.
    padded: usize,
    has_ended: bool,
}

impl<R: Read> Watched<R> {
    fn new(input: R) -> Self {
        Self { input, header: [0; BLOCK_HEADER], given: 0, padded: 0, has_ended: false }
    }

    /// Returns how many bytes of an uncompressed block are missing.
    fn missing_bytes(&self) -> usize {
        let [low, middle, high] = self.header;
        let header = u32::from_le_bytes([low, middle, high, 0]);
        let is_raw = self.given >= BLOCK_HEADER && header & 0b110 == 0;
        let end = BLOCK_HEADER + (header >> 3) as usize;
        if is_raw { end.saturating_sub(self.given + self.padded) } else { 0 }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let length = self.input.read(buffer)?;
        for (place, byte) in self.header.iter_mut().skip(self.given).zip(&buffer[..length]) {
            *place = *byte;
        }
        self.given += length;
        if length > 0 || buffer.is_empty() {
            return Ok(length);
        }
        self.has_ended = true;
        let padding = self.missing_bytes().min(buffer.len());
        buffer[..padding].fill(0);
        self.padded += padding;
        Ok(padding)
    }
}
