//! The text between two tokens of a scanned text.

/// The first few bytes between two tokens, and how many there are.
#[derive(Debug, Default)]
pub(super) struct TokenGap {
    pub(super) bytes: [u8; 4],
    pub(super) length: usize,
}

impl TokenGap {
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
        }
        self.length += 1;
    }

    pub(super) fn equals(&self, expected: &[u8]) -> bool {
        self.bytes.get(..self.length) == Some(expected)
    }
}
