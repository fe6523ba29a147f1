//! Lines of messages: read within bounds, and written.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// The most bytes of one message, as of a request to a run.
pub(super) const LONGEST_LINE: usize = 64 << 20;

/// Reads lines.
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    most: usize,
    /// Whether the rest of a line is skipped that was too long.
    skips: bool,
}

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadLine {
    /// Its text, without its end.
    Text(Bytes),
    /// It has more bytes than a line may have.
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Returns a reader of lines of `most` bytes.
    pub(super) fn new(reader: R, most: usize) -> Self {
        Self { reader: BufReader::new(reader), most, skips: false }
    }

    /// Returns the next line that is not blank; `None` at the end. The last line needs no end.
    ///
    /// # Errors
    /// An error of the reader.
    pub(super) async fn next(&mut self) -> io::Result<Option<ReadLine>> {
        let mut line = Vec::new();
        loop {
            let read = self.reader.fill_buf().await?;
            let is_end = read.is_empty();
            let newline = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..newline.unwrap_or(read.len())];
            let is_too_long = !self.skips && line.len() + part.len() > self.most;
            if !self.skips && !is_too_long {
                line.extend_from_slice(part);
            }
            let used = newline.map_or(part.len(), |at| at + 1);
            self.reader.consume(used);
            if is_too_long {
                self.skips = newline.is_none();
                return Ok(Some(ReadLine::TooLong));
            }
            if newline.is_some() || is_end {
                self.skips = false;
                let text = line.trim_ascii();
                if !text.is_empty() {
                    return Ok(Some(ReadLine::Text(Bytes::copy_from_slice(text))));
                }
                line.clear();
            }
            if is_end {
                return Ok(None);
            }
        }
    }
}

/// Writes a line and its end, and flushes them.
///
/// # Errors
/// An error of the writer.
pub(super) async fn send_line<W: AsyncWrite + Unpin>(
    writer: &mut W,
    line: &[u8],
) -> io::Result<()> {
    writer.write_all(line).await?;
    writer.write_all(b"\n").await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_blank_ones_are_left_out() {
        let text = b" {1}\r\n\n  \n12345678\n123456789\n23\n1234567890123" as &[u8];
        let mut lines =
            LineReader { reader: BufReader::with_capacity(3, text), ..LineReader::new(text, 8) };
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(match line {
                ReadLine::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                ReadLine::TooLong => "too long".to_owned(),
            });
        }
        assert_eq!(read, ["{1}", "12345678", "too long", "23", "too long"]);
    }
}
