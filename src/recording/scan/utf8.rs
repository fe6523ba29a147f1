//! An incremental check for UTF-8.

use super::SplitError;

/// Checks UTF-8 across pieces.
#[derive(Debug, Default)]
pub(super) struct Utf8Checker {
    /// The bytes of an unfinished character.
    torn: [u8; 4],
    length: usize,
}

impl Utf8Checker {
    /// Checks the next piece. Fails if the text so far is not UTF-8.
    pub(super) fn check(&mut self, mut piece: &[u8]) -> Result<(), SplitError> {
        while self.length > 0 {
            let Some((&byte, rest)) = piece.split_first() else {
                return Ok(());
            };
            piece = rest;
            self.torn[self.length] = byte;
            self.length += 1;
            match std::str::from_utf8(&self.torn[..self.length]) {
                Ok(_) => self.length = 0,
                // An unfinished character has at most three bytes.
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(SplitError),
            }
        }
        let Err(error) = std::str::from_utf8(piece) else {
            return Ok(());
        };
        if error.error_len().is_some() {
            return Err(SplitError);
        }
        let torn = &piece[error.valid_up_to()..];
        self.torn[..torn.len()].copy_from_slice(torn);
        self.length = torn.len();
        Ok(())
    }

    /// Whether no character is unfinished.
    pub(super) fn is_whole(&self) -> bool {
        self.length == 0
    }
}
