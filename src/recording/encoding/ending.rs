//! The end of an encoded input: allowed padding, and the errors of decoders.

use std::io::{BufRead, Error, ErrorKind};

/// The most bytes of padding after the end.
const PADDING: usize = 512;

/// The error of bytes that do not decode.
pub(super) fn damaged_error() -> Error {
    ErrorKind::InvalidData.into()
}

/// The error of an input that ends too early.
pub(super) fn cut_error() -> Error {
    ErrorKind::UnexpectedEof.into()
}

/// Whether the input is at its end. Skips line ends and zeros, which some programs append. If
/// anything follows them, the input is damaged.
pub(super) fn is_at_end(input: &mut impl BufRead) -> std::io::Result<bool> {
    let mut padding = 0;
    loop {
        let data = input.fill_buf()?;
        let Some(first) = data.first() else { return Ok(true) };
        let is_padding = *first == 0 || first.is_ascii_whitespace();
        match (is_padding, padding) {
            (false, 0) => return Ok(false),
            (true, ..PADDING) => {}
            _ => return Err(damaged_error()),
        }
        padding += 1;
        input.consume(1);
    }
}
