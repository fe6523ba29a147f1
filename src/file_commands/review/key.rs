//! The decoder of keys from the bytes that a terminal sends.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewKey {
    /// A character.
    Char(char),
    /// One line down. Enter does the same.
    Down,
    /// One line up.
    Up,
    /// One page down.
    PageDown,
    /// One page up.
    PageUp,
    /// To the first line.
    Home,
    /// To the last line.
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-D.
    Close,
    /// Ctrl-L.
    Redraw,
    /// Anything else.
    Other,
}

/// A longer escape sequence is not valid.
const LONGEST: usize = 16;

/// Decodes keys from bytes, which may be split anywhere.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    /// The beginning of an escape sequence.
    begun: Vec<u8>,
}

impl KeyReader {
    /// Returns the keys that end in these bytes.
    pub(super) fn read_keys(&mut self, bytes: &[u8]) -> Vec<ReviewKey> {
        bytes.iter().filter_map(|byte| self.add_byte(*byte)).collect()
    }

    fn add_byte(&mut self, byte: u8) -> Option<ReviewKey> {
        match self.begun.as_slice() {
            [] if byte == 0x1b => self.begin_sequence(byte),
            [] => plain_key(byte),
            [0x1b] if matches!(byte, b'[' | b'O') => self.begin_sequence(byte),
            // The escape key by itself is ignored.
            [0x1b] => {
                self.begun.clear();
                self.add_byte(byte)
            }
            begun if (0x40..=0x7e).contains(&byte) => {
                let key = sequence_key(&begun[2..], byte);
                self.begun.clear();
                Some(key)
            }
            begun if begun.len() >= LONGEST || byte < 0x20 => {
                self.begun.clear();
                Some(ReviewKey::Other)
            }
            _ => self.begin_sequence(byte),
        }
    }

    fn begin_sequence(&mut self, byte: u8) -> Option<ReviewKey> {
        self.begun.push(byte);
        None
    }
}

fn plain_key(byte: u8) -> Option<ReviewKey> {
    Some(match byte {
        b'\r' | b'\n' => ReviewKey::Down,
        0x03 => ReviewKey::Interrupt,
        0x04 => ReviewKey::Close,
        0x0c => ReviewKey::Redraw,
        0x1a => ReviewKey::Suspend,
        0x20..=0x7e => ReviewKey::Char(char::from(byte)),
        // Continuation bytes of a character are not keys of their own.
        0x80..=0xbf => return None,
        _ => ReviewKey::Other,
    })
}

fn sequence_key(parameters: &[u8], last: u8) -> ReviewKey {
    match (parameters, last) {
        (_, b'A') => ReviewKey::Up,
        (_, b'B') => ReviewKey::Down,
        (_, b'H') | (b"1" | b"7", b'~') => ReviewKey::Home,
        (_, b'F') | (b"4" | b"8", b'~') => ReviewKey::End,
        (b"5", b'~') => ReviewKey::PageUp,
        (b"6", b'~') => ReviewKey::PageDown,
        _ => ReviewKey::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_the_same_wherever_their_bytes_are_cut() {
        let bytes = b"a\x1b[A\x1b[6~\x1bOB\x1b[1;5H\r \x03\x1bq\xc3\xa9Z\x1a\x04\x0c";
        let expected = [
            ReviewKey::Char('a'),
            ReviewKey::Up,
            ReviewKey::PageDown,
            ReviewKey::Down,
            ReviewKey::Home,
            ReviewKey::Down,
            ReviewKey::Char(' '),
            ReviewKey::Interrupt,
            ReviewKey::Char('q'),
            ReviewKey::Other,
            ReviewKey::Char('Z'),
            ReviewKey::Suspend,
            ReviewKey::Close,
            ReviewKey::Redraw,
        ];
        assert_eq!(KeyReader::default().read_keys(bytes), expected);
        let mut keys = KeyReader::default();
        let single: Vec<ReviewKey> =
            bytes.iter().flat_map(|byte| keys.read_keys(&[*byte])).collect();
        assert_eq!(single, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_what_follows_is_understood(bytes: Vec<u8>) {
            let mut keys = KeyReader::default();
            keys.read_keys(&bytes);
            // This ends any sequence that was begun.
            keys.read_keys(&[0; LONGEST + 2]);
            prop_assert_eq!(keys.read_keys(b"a"), [ReviewKey::Char('a')]);
        }
    }
}
