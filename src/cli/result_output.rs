//! Long results on stdout, written in parts.

use std::io::{self, Stdout, Write as _};

use anstream::AutoStream;

/// The output of a long result. Colours are removed if stdout is not a terminal.
pub struct ResultOutput {
    out: AutoStream<Stdout>,
}

impl ResultOutput {
    /// Opens stdout.
    pub fn open() -> Self {
        Self { out: AutoStream::auto(io::stdout()) }
    }

    /// Writes a part of the result. Returns `false` if the reader has gone.
    ///
    /// # Errors
    /// Any other failure to write.
    pub fn write(&mut self, text: &str) -> io::Result<bool> {
        is_read(self.out.write_all(text.as_bytes()))
    }

    /// Ends the result.
    ///
    /// # Errors
    /// A failure to write, except that the reader has gone.
    pub fn finish(mut self) -> io::Result<()> {
        is_read(self.out.flush()).map(drop)
    }
}

/// Returns `false` if a write failed because the reader has gone.
fn is_read(written: io::Result<()>) -> io::Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}
