//! The scanner that finds where the elements of a JSON array end.

use super::OpenEvent;

/// The state of the scan.
#[derive(Debug, Default)]
pub(crate) struct ArrayScan {
    state: State,
    /// Whether the opening bracket of the array has passed.
    opened: bool,
    /// Whether any byte has passed since the last element ended.
    begun: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Before an element or the closing bracket of the array.
    #[default]
    Before,
    /// Within an array or an object, this many levels deep.
    Nested(usize),
    /// Within a string, this many levels deep; whether the last byte was a backslash.
    Text(usize, bool),
    /// Within a number or a word.
    Plain,
    /// After the array.
    Closed,
}

impl ArrayScan {
    pub(super) fn scan(&mut self, chunk: &[u8], on: &mut impl FnMut(usize, bool)) {
        for (at, byte) in chunk.iter().copied().enumerate() {
            let ends = byte.is_ascii_whitespace() || matches!(byte, b',' | b']');
            if matches!(self.state, State::Plain) && ends {
                self.end(at, on);
            }
            self.begun = true;
            self.state = match (self.state, byte) {
                (State::Before, _) => self.begin(byte),
                (State::Nested(depth), b'"') => State::Text(depth, false),
                (State::Nested(depth), b'{' | b'[') => State::Nested(depth + 1),
                (State::Nested(depth), b'}' | b']') => self.up(depth - 1, at, on),
                (State::Text(depth, true), _) => State::Text(depth, false),
                (State::Text(depth, false), b'\\') => State::Text(depth, true),
                (State::Text(depth, false), b'"') => self.up(depth, at, on),
                (state, _) => state,
            };
        }
    }

    fn begin(&mut self, byte: u8) -> State {
        if byte.is_ascii_whitespace() || byte == b',' {
            return State::Before;
        }
        let first = !std::mem::replace(&mut self.opened, true);
        match byte {
            b'[' if first => State::Before,
            b']' => State::Closed,
            b'{' | b'[' => State::Nested(1),
            b'"' => State::Text(0, false),
            _ => State::Plain,
        }
    }

    /// Back at `depth`; at 0 the element has ended.
    fn up(&mut self, depth: usize, at: usize, on: &mut impl FnMut(usize, bool)) -> State {
        if depth > 0 {
            return State::Nested(depth);
        }
        self.end(at + 1, on);
        State::Before
    }

    fn end(&mut self, at: usize, on: &mut impl FnMut(usize, bool)) {
        on(at, true);
        (self.begun, self.state) = (false, State::Before);
    }

    pub(super) fn open(&self) -> Option<OpenEvent> {
        let carries = !matches!(self.state, State::Before | State::Closed);
        let finished = matches!(self.state, State::Plain | State::Closed);
        self.begun.then_some(OpenEvent { carries, finished })
    }
}
