//! The scanner that finds where server-sent events end: after a blank line.

use super::OpenEvent;

/// The byte order mark, which may precede the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// How many bytes of a line show whether it carries data.
const BEGINNING: usize = MARK.len() + b"data:".len();

/// The state of the scan.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    /// The first bytes of the line.
    beginning: [u8; BEGINNING],
    /// The length of the line so far.
    length: usize,
    /// Whether the line is not the body's first.
    later: bool,
    /// Whether the event has begun.
    begun: bool,
    /// Whether the event has a data line.
    carries: bool,
    /// Set if the last byte was a CR, so that an LF may follow: whether the CR ended a blank line.
    after_cr: Option<bool>,
}

impl Sse {
    pub(super) fn scan(&mut self, chunk: &[u8], on: &mut impl FnMut(usize, bool)) {
        let mut at = 0;
        if !chunk.is_empty()
            && let Some(blank) = self.after_cr.take()
        {
            at = usize::from(chunk[0] == b'\n');
            if blank {
                self.end_event(at, on);
            }
        }
        while let Some(length) = memchr::memchr2(b'\n', b'\r', &chunk[at..]) {
            self.take(&chunk[at..at + length]);
            at += length + 1;
            let blank = self.end_line();
            if chunk[at - 1] == b'\r' {
                match chunk.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => {
                        self.after_cr = Some(blank);
                        return;
                    }
                }
            }
            if blank {
                self.end_event(at, on);
            }
        }
        self.take(&chunk[at..]);
    }

    fn take(&mut self, part: &[u8]) {
        self.begun |= !part.is_empty();
        if let Some(room) = self.beginning.get_mut(self.length..) {
            let length = room.len().min(part.len());
            room[..length].copy_from_slice(&part[..length]);
        }
        self.length = self.length.saturating_add(part.len());
    }

    /// Whether the line so far is a data line.
    fn is_data(&self) -> bool {
        let line = self.line();
        line.starts_with(b"data:") || (line == b"data" && self.length <= BEGINNING)
    }

    /// The line so far, or its beginning.
    fn line(&self) -> &[u8] {
        let line = &self.beginning[..self.length.min(BEGINNING)];
        if self.later { line } else { line.strip_prefix(MARK).unwrap_or(line) }
    }

    /// Whether the line that ends here is blank.
    fn end_line(&mut self) -> bool {
        let blank = self.line().is_empty();
        self.carries |= self.is_data();
        (self.begun, self.later, self.length) = (true, true, 0);
        blank
    }

    fn end_event(&mut self, at: usize, on: &mut impl FnMut(usize, bool)) {
        on(at, self.carries);
        (self.begun, self.carries) = (false, false);
    }

    pub(super) fn open(&self) -> Option<OpenEvent> {
        let carries = self.carries || self.is_data();
        self.begun.then_some(OpenEvent { carries, finished: self.after_cr == Some(true) })
    }
}
