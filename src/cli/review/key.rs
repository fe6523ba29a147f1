//! What is typed, from the bytes that a terminal sends.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A character.
    Char(char),
    /// Down a line, with Enter too.
    Down,
    /// Up a line.
    Up,
    /// Down a page.
    PageDown,
    /// Up a page.
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

/// A longer sequence is none.
const LONGEST: usize = 16;

/// Reads keys out of bytes, wherever they were cut.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The beginning of a sequence.
    begun: Vec<u8>,
}

impl Keys {
    /// The keys that end in these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.byte(*byte)).collect()
    }

    fn byte(&mut self, byte: u8) -> Option<Key> {
        match self.begun.as_slice() {
            [] if byte == 0x1b => self.begin(byte),
            [] => plain(byte),
            [0x1b] if matches!(byte, b'[' | b'O') => self.begin(byte),
            // The escape key by itself: nothing.
            [0x1b] => {
                self.begun.clear();
                self.byte(byte)
            }
            begun if (0x40..=0x7e).contains(&byte) => {
                let key = sequence(&begun[2..], byte);
                self.begun.clear();
                Some(key)
            }
            begun if begun.len() >= LONGEST || byte < 0x20 => {
                self.begun.clear();
                Some(Key::Other)
            }
            _ => self.begin(byte),
        }
    }

    fn begin(&mut self, byte: u8) -> Option<Key> {
        self.begun.push(byte);
        None
    }
}

fn plain(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Down,
        0x03 => Key::Interrupt,
        0x04 => Key::Close,
        0x0c => Key::Redraw,
        0x1a => Key::Suspend,
        0x20..=0x7e => Key::Char(char::from(byte)),
        // What follows the first byte of a character is no key of its own.
        0x80..=0xbf => return None,
        _ => Key::Other,
    })
}

fn sequence(parameters: &[u8], last: u8) -> Key {
    match (parameters, last) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        _ => Key::Other,
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
            Key::Char('a'),
            Key::Up,
            Key::PageDown,
            Key::Down,
            Key::Home,
            Key::Down,
            Key::Char(' '),
            Key::Interrupt,
            Key::Char('q'),
            Key::Other,
            Key::Char('Z'),
            Key::Suspend,
            Key::Close,
            Key::Redraw,
        ];
        assert_eq!(Keys::default().feed(bytes), expected);
        let mut keys = Keys::default();
        let single: Vec<Key> = bytes.iter().flat_map(|byte| keys.feed(&[*byte])).collect();
        assert_eq!(single, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_what_follows_is_understood(bytes: Vec<u8>) {
            let mut keys = Keys::default();
            keys.feed(&bytes);
            // Whatever was begun, this ends it.
            keys.feed(&[0; LONGEST + 2]);
            prop_assert_eq!(keys.feed(b"a"), [Key::Char('a')]);
        }
    }
}
