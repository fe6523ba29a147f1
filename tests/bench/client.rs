//! A keep-alive connection of the load generator: writes a request, reads the answer to its last
//! byte, and counts the chunks on the wire.

use std::io;
use std::time::{Duration, Instant};

use crate::transport::Wire;

/// More bytes than any answer of the workloads has.
const BUFFER: usize = 256 << 10;

/// An open connection.
pub struct Connection {
    stream: Wire,
    buffer: Vec<u8>,
}

/// An answer, with times that count from just before the request was written.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Bytes of the body.
    pub bytes: usize,
    /// Chunks of the body, as the transfer coding frames them. 1 for a body of announced length.
    pub chunks: usize,
    /// A checksum of the positions of chunk boundaries: see [`mark`].
    pub boundaries: u64,
    /// The time until the first byte of the body arrived.
    pub first: Duration,
    /// The time until the last byte arrived.
    pub total: Duration,
}

impl Connection {
    /// Returns a connection over this stream.
    pub fn over(stream: Wire) -> Self {
        Self { stream, buffer: Vec::with_capacity(BUFFER) }
    }

    /// Makes one call. If `keep` is given, the bytes of the body are appended to it.
    ///
    /// # Errors
    /// A connection that ends early, or an answer that is not HTTP.
    pub async fn call(
        &mut self,
        request: &[u8],
        mut keep: Option<&mut Vec<u8>>,
    ) -> io::Result<Answer> {
        let start = Instant::now();
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            self.fill().await?;
            if let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
        };
        let (status, mut framing) = read_head(&self.buffer[..head])?;
        let (mut bytes, mut first, mut read) = (0, None, head);
        loop {
            let before = bytes;
            framing.feed(&self.buffer[read..], |data| {
                bytes += data.len();
                if let Some(keep) = keep.as_deref_mut() {
                    keep.extend_from_slice(data);
                }
            })?;
            if before == 0 && bytes > 0 {
                first = Some(start.elapsed());
            }
            if framing.is_over() {
                break;
            }
            self.buffer.clear();
            read = 0;
            self.fill().await?;
        }
        let total = start.elapsed();
        let Framing { chunks, boundaries, .. } = framing;
        Ok(Answer { status, bytes, chunks, boundaries, first: first.unwrap_or(total), total })
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.stream.read_some(&mut self.buffer).await? {
            0 => Err(wrong("the connection ended within an answer")),
            _ => Ok(()),
        }
    }
}

/// The reader's position in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a body of announced length, or in a chunk, with this many bytes left.
    Data { left: usize, chunked: bool },
    /// In a chunk's size line.
    Size { value: usize, digits: bool },
    /// In the line end after a chunk.
    Behind,
    /// In the lines after the last chunk. `length` is that of the current line.
    Trailer { length: usize },
    /// After the body.
    Over,
}

/// The framing of one body.
#[derive(Debug)]
struct Framing {
    state: State,
    chunks: usize,
    boundaries: u64,
}

/// Adds the length of one more chunk to a checksum, which is equal only for the same lengths in the
/// same order.
pub fn mark(boundaries: u64, length: usize) -> u64 {
    boundaries.wrapping_mul(0x100_0000_01b3).wrapping_add(length as u64 + 1)
}

impl Framing {
    fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Processes bytes that were read. `data` gets the bytes of the body.
    fn feed(&mut self, mut input: &[u8], mut data: impl FnMut(&[u8])) -> io::Result<()> {
        while let Some((&byte, rest)) = input.split_first() {
            if let State::Data { left, chunked } = self.state {
                let (part, behind) = input.split_at(left.min(input.len()));
                data(part);
                input = behind;
                self.state = match (left - part.len(), chunked) {
                    (0, true) => State::Behind,
                    (0, false) => State::Over,
                    (left, chunked) => State::Data { left, chunked },
                };
                // Streams are measured, so the framing between two chunks is skipped at once if all
                // of it has arrived, which is nearly always the case.
                if self.state == State::Behind
                    && let Some((size, behind)) = between(input)
                {
                    self.chunks += 1;
                    self.boundaries = mark(self.boundaries, size);
                    self.state = State::Data { left: size, chunked: true };
                    input = behind;
                }
                continue;
            }
            input = rest;
            self.state = self.next(byte)?;
        }
        Ok(())
    }

    /// Returns the state after one byte of framing.
    fn next(&mut self, byte: u8) -> io::Result<State> {
        Ok(match (self.state, byte) {
            (State::Size { value: 0, .. }, b'\n') => State::Trailer { length: 0 },
            (State::Size { value, .. }, b'\n') => {
                self.chunks += 1;
                self.boundaries = mark(self.boundaries, value);
                State::Data { left: value, chunked: true }
            }
            (State::Size { value, digits: true }, byte) => {
                match char::from(byte).to_digit(16) {
                    Some(digit) => State::Size { value: value * 16 + digit as usize, digits: true },
                    // A line end or a chunk extension.
                    None => State::Size { value, digits: false },
                }
            }
            (State::Behind, b'\n') => State::Size { value: 0, digits: true },
            (State::Trailer { length: 0 }, b'\n') => State::Over,
            (State::Trailer { .. }, b'\n') => State::Trailer { length: 0 },
            (State::Trailer { length }, byte) if byte != b'\r' => {
                State::Trailer { length: length + 1 }
            }
            (State::Over, _) => return Err(wrong("there are bytes behind the answer")),
            (state, _) => state,
        })
    }
}

/// Returns the size of the next chunk and the bytes after its size line, if `input` begins with the
/// end of a chunk and contains another plain size line.
fn between(input: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = input.strip_prefix(b"\r\n")?;
    let mut size = 0;
    while let [digit, behind @ ..] = rest {
        size = size * 16
            + match digit {
                b'0'..=b'9' => usize::from(digit - b'0'),
                b'a'..=b'f' => usize::from(digit - b'a') + 10,
                b'A'..=b'F' => usize::from(digit - b'A') + 10,
                _ => break,
            };
        rest = behind;
    }
    // The last chunk is followed by more than a size line.
    let rest = rest.strip_prefix(b"\r\n").filter(|_| size > 0)?;
    Some((size, rest))
}

/// Parses the status and the framing from an answer's head.
fn read_head(head: &[u8]) -> io::Result<(u16, Framing)> {
    let text = std::str::from_utf8(head).map_err(|_| wrong("the head is not text"))?;
    let mut lines = text.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
        .ok_or_else(|| wrong("the status line is none"))?;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            let left = value.trim().parse().map_err(|_| wrong("the length is no number"))?;
            let state = if left == 0 { State::Over } else { State::Data { left, chunked: false } };
            let boundaries = mark(0, left);
            return Ok((status, Framing { state, chunks: 1, boundaries }));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            let state = State::Size { value: 0, digits: true };
            return Ok((status, Framing { state, chunks: 0, boundaries: 0 }));
        }
    }
    Err(wrong("the head announces no body"))
}

fn wrong(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
