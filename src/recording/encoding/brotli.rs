//! Brotli: a single stream without trailing data.

use std::io::{BufRead, Read, Result};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::ending::{cut_error, damaged_error, is_at_end};

type BrotliDecoderState = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A brotli stream (RFC 7932).
pub(super) struct BrotliDecoder<R> {
    input: R,
    state: Box<BrotliDecoderState>,
    is_over: bool,
}

impl<R: BufRead> BrotliDecoder<R> {
    pub(super) fn new(input: R) -> Self {
        let memory = StandardAlloc::default;
        Self {
            input,
            state: Box::new(BrotliDecoderState::new(memory(), memory(), memory())),
            is_over: false,
        }
    }
}

impl<R: BufRead> Read for BrotliDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while !self.is_over && !buffer.is_empty() {
            let data = self.input.fill_buf()?;
            let is_end = data.is_empty();
            let (mut unread, mut consumed) = (data.len(), 0);
            let (mut room, mut written, mut total) = (buffer.len(), 0, 0);
            let result = BrotliDecompressStream(
                &mut unread,
                &mut consumed,
                data,
                &mut room,
                &mut written,
                buffer,
                &mut total,
                &mut self.state,
            );
            self.input.consume(consumed);
            self.is_over = matches!(result, BrotliResult::ResultSuccess);
            match result {
                _ if written > 0 => return Ok(written),
                BrotliResult::ResultSuccess => {}
                BrotliResult::NeedsMoreInput if is_end => return Err(cut_error()),
                BrotliResult::NeedsMoreInput if consumed > 0 => {}
                _ => return Err(damaged_error()),
            }
        }
        match buffer.is_empty() || is_at_end(&mut self.input)? {
            true => Ok(0),
            false => Err(damaged_error()),
        }
    }
}
