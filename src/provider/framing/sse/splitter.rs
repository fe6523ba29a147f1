//! The ends of server-sent events: each is after a blank line.

use super::super::split_state::{EventEnd, OpenEvent};
use super::MARK;

/// How many bytes of a line show whether it carries data.
const BEGINNING: usize = MARK.len() + b"data:".len();

/// Finds the ends of events.
#[derive(Debug, Default)]
pub(in crate::framing) struct SseSplitter {
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

impl SseSplitter {
    pub(in crate::framing) fn next_end(&mut self, bytes: &[u8]) -> Option<EventEnd> {
        let mut at = 0;
        if !bytes.is_empty()
            && let Some(blank) = self.after_cr.take()
        {
            at = usize::from(bytes[0] == b'\n');
            if blank {
                return Some(self.end_event(at));
            }
        }
        while let Some(length) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) {
            let blank = self.end_line(&bytes[at..at + length]);
            at += length + 1;
            if bytes[at - 1] == b'\r' {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => {
                        self.after_cr = Some(blank);
                        return None;
                    }
                }
            }
            if blank {
                return Some(self.end_event(at));
            }
        }
        self.add_bytes(&bytes[at..]);
        None
    }

    fn add_bytes(&mut self, part: &[u8]) {
        self.begun |= !part.is_empty();
        if let Some(room) = self.beginning.get_mut(self.length..) {
            let length = room.len().min(part.len());
            room[..length].copy_from_slice(&part[..length]);
        }
        self.length = self.length.saturating_add(part.len());
    }

    /// The line so far, or its beginning.
    fn current_line(&self) -> &[u8] {
        self.without_mark(&self.beginning[..self.length.min(BEGINNING)])
    }

    /// Returns a line without the byte order mark that the first one may have.
    fn without_mark<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        if self.later { line } else { line.strip_prefix(MARK).unwrap_or(line) }
    }

    /// Ends the line with its last part, and returns whether it is blank.
    fn end_line(&mut self, rest: &[u8]) -> bool {
        let of = |line: &[u8]| (line.is_empty(), is_data(line));
        // Nearly always, `rest` is the whole line, and need not be copied.
        let (blank, carries) = if self.length == 0 {
            of(self.without_mark(rest))
        } else {
            self.add_bytes(rest);
            of(self.current_line())
        };
        self.carries |= carries;
        (self.begun, self.later, self.length) = (true, true, 0);
        blank
    }

    fn end_event(&mut self, at: usize) -> EventEnd {
        self.begun = false;
        EventEnd { at, carries: std::mem::take(&mut self.carries) }
    }

    pub(in crate::framing) fn open_event(&self) -> Option<OpenEvent> {
        let carries = self.carries || is_data(self.current_line());
        let finished = self.after_cr == Some(true);
        self.begun.then_some(OpenEvent { carries, finished, lost: false })
    }
}

/// Whether a line, of which the beginning is enough, is one of data.
fn is_data(line: &[u8]) -> bool {
    line.starts_with(b"data:") || line == b"data"
}
