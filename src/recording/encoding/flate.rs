//! Gzip, zlib and bare deflate.

use std::io::{BufRead, Read, Result, copy, sink};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::ending::{cut_error, damaged_error, is_at_end};

/// A single deflate stream.
struct Deflate {
    state: Decompress,
    is_over: bool,
}

impl Deflate {
    fn new(has_zlib_header: bool) -> Self {
        Self { state: Decompress::new(has_zlib_header), is_over: false }
    }

    /// Reads the next plain bytes; 0 at the end of the stream, which need not be the end of the
    /// input.
    fn read(&mut self, input: &mut impl BufRead, buffer: &mut [u8]) -> Result<usize> {
        while !self.is_over && !buffer.is_empty() {
            let data = input.fill_buf()?;
            let is_end = data.is_empty();
            let before = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(data, buffer, FlushDecompress::None);
            let consumed = (self.state.total_in() - before.0) as usize;
            let written = (self.state.total_out() - before.1) as usize;
            input.consume(consumed);
            self.is_over = status.map_err(|_| damaged_error())? == Status::StreamEnd;
            match (written, consumed) {
                (1.., _) => return Ok(written),
                (0, 0) if !self.is_over => {
                    return Err(if is_end { cut_error() } else { damaged_error() });
                }
                _ => {}
            }
        }
        Ok(0)
    }
}

/// Zlib or bare deflate: a single stream without trailing data.
pub(super) struct DeflateDecoder<R> {
    input: R,
    stream: Deflate,
}

impl<R: BufRead> DeflateDecoder<R> {
    pub(super) fn new(input: R, has_zlib_header: bool) -> Self {
        Self { input, stream: Deflate::new(has_zlib_header) }
    }
}

impl<R: BufRead> Read for DeflateDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self.stream.read(&mut self.input, buffer)? {
            0 if !buffer.is_empty() && !is_at_end(&mut self.input)? => Err(damaged_error()),
            length => Ok(length),
        }
    }
}

/// Gzip (RFC 1952): consecutive members.
pub(super) struct GzipDecoder<R> {
    input: R,
    member: Option<Member>,
    /// Whether a member has been read.
    has_begun: bool,
}

struct Member {
    stream: Deflate,
    sum: Crc,
}

impl<R: BufRead> GzipDecoder<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, member: None, has_begun: false }
    }

    fn begin_member(&mut self) -> Result<()> {
        let mut head = [0; 10];
        self.input.read_exact(&mut head[..1])?;
        if head[0] != 0x1f {
            return Err(damaged_error());
        }
        self.input.read_exact(&mut head[1..])?;
        let flags = head[3];
        if head[1..3] != [0x8b, 8] || flags & 0b1110_0000 != 0 {
            return Err(damaged_error());
        }
        if flags & 4 != 0 {
            let mut length = [0; 2];
            self.input.read_exact(&mut length)?;
            skip_bytes(&mut self.input, u16::from_le_bytes(length).into())?;
        }
        // Skips the name of the file, and the comment.
        for _ in 0..(flags & 0b1_1000).count_ones() {
            self.input.skip_until(0)?;
        }
        if flags & 2 != 0 {
            skip_bytes(&mut self.input, 2)?;
        }
        self.member = Some(Member { stream: Deflate::new(false), sum: Crc::new() });
        self.has_begun = true;
        Ok(())
    }
}

impl<R: BufRead> Read for GzipDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while !buffer.is_empty() {
            let Some(member) = &mut self.member else {
                if self.has_begun && is_at_end(&mut self.input)? {
                    return Ok(0);
                }
                self.begin_member()?;
                continue;
            };
            let length = member.stream.read(&mut self.input, buffer)?;
            if length > 0 {
                member.sum.update(&buffer[..length]);
                return Ok(length);
            }
            let mut tail = [0; 8];
            self.input.read_exact(&mut tail)?;
            let (sum, amount) = (member.sum.sum().to_le_bytes(), member.sum.amount().to_le_bytes());
            if tail[..4] != sum || tail[4..] != amount {
                return Err(damaged_error());
            }
            self.member = None;
        }
        Ok(0)
    }
}

/// Skips this many bytes, all of which must exist.
pub(super) fn skip_bytes(input: &mut impl Read, count: u64) -> Result<()> {
    match copy(&mut input.take(count), &mut sink())? {
        skipped if skipped == count => Ok(()),
        _ => Err(cut_error()),
    }
}
