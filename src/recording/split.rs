//! Splits a JSON object's text at its top level, reading no more of the values
//! than it takes to find their ends.

use bytes::Bytes;

/// One member of the object.
pub(super) struct Part {
    /// The key, unescaped.
    pub(super) key: String,
    /// The value's text.
    pub(super) text: Bytes,
    /// Where the key begins in the source.
    pub(super) at: usize,
}

/// Finds the members of the top-level object, with as little reading as that takes.
pub(super) struct Splitter<'a> {
    source: &'a Bytes,
    at: usize,
}

impl<'a> Splitter<'a> {
    pub(super) fn new(source: &'a Bytes) -> Self {
        Self { source, at: 0 }
    }

    /// The members; `None` where the text is not one object.
    pub(super) fn members(mut self) -> Option<Vec<Part>> {
        let mut members = Vec::new();
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return self.ended().then_some(members);
        }
        loop {
            self.peek()?;
            let at = self.at;
            self.string()?;
            let key = serde_json::from_slice(&self.source[at..self.at]).ok()?;
            self.expect(b':')?;
            self.peek()?;
            let start = self.at;
            self.value()?;
            if self.at == start {
                return None;
            }
            members.push(Part { key, text: self.source.slice(start..self.at), at });
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b',' => {}
                b'}' => return self.ended().then_some(members),
                _ => return None,
            }
        }
    }

    /// The next byte that is not white space, without taking it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.source.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn ended(&mut self) -> bool {
        self.peek().is_none()
    }

    fn string(&mut self) -> Option<()> {
        if *self.source.get(self.at)? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            self.at += memchr::memchr2(b'"', b'\\', self.source.get(self.at..)?)?;
            if self.source[self.at] == b'"' {
                self.at += 1;
                return Some(());
            }
            self.at += 2;
        }
    }

    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match *self.source.get(self.at)? {
                b'"' => {
                    self.string()?;
                    if depth == 0 {
                        return Some(());
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return Some(()),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Some(());
                    }
                }
                b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return Some(()),
                _ => {}
            }
            self.at += 1;
        }
    }
}
