//! The scanner that finds where events end in a stream that comes in chunks.
//!
//! It finds the same events as [`loomrec_provider::framing::events`] finds in the whole stream,
//! however the stream is cut into chunks. It holds only its state, and no event.

mod array;
mod message;
mod open_event;
mod sse;

pub(super) use open_event::OpenEvent;

use array::ArrayScan;
use loomrec_provider::Framing;
use message::MessageScan;
use sse::Sse;

/// Finds the ends of events.
#[derive(Debug)]
pub(super) enum EventScanner {
    /// Server-sent events.
    Sse(Sse),
    /// Lines.
    Lines(LineScanner),
    /// An array.
    Array(ArrayScan),
    /// AWS's messages.
    Messages(MessageScan),
}

impl EventScanner {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(Sse::default()),
            Framing::Lines => Self::Lines(LineScanner::default()),
            Framing::Array => Self::Array(ArrayScan::default()),
            Framing::EventStream => Self::Messages(MessageScan::default()),
        }
    }

    /// Calls `on` for each event that ends in `chunk`, with the place of its end and whether it
    /// carries data. An event whose end is only known from the byte after it can end at 0.
    pub(super) fn scan(&mut self, chunk: &[u8], mut on: impl FnMut(usize, bool)) {
        match self {
            Self::Sse(sse) => sse.scan(chunk, &mut on),
            Self::Lines(lines) => lines.scan(chunk, &mut on),
            Self::Array(array) => array.scan(chunk, &mut on),
            Self::Messages(messages) => messages.scan(chunk, &mut on),
        }
    }

    /// What is left if the stream ends here; `None` after the end of an event.
    pub(super) fn open(&self) -> Option<OpenEvent> {
        match self {
            Self::Sse(sse) => sse.open(),
            Self::Lines(lines) => lines.open(),
            Self::Array(array) => array.open(),
            Self::Messages(messages) => messages.open(),
        }
    }
}

/// Finds the ends of lines.
#[derive(Debug, Default)]
pub(super) struct LineScanner {
    begun: bool,
    carries: bool,
}

impl LineScanner {
    fn scan(&mut self, chunk: &[u8], on: &mut impl FnMut(usize, bool)) {
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            self.take(&chunk[at..end]);
            at = end + 1;
            on(at, self.carries);
            *self = Self::default();
        }
        self.take(&chunk[at..]);
    }

    fn take(&mut self, part: &[u8]) {
        self.begun |= !part.is_empty();
        self.carries |= !part.trim_ascii().is_empty();
    }

    fn open(&self) -> Option<OpenEvent> {
        self.begun.then_some(OpenEvent { carries: self.carries, finished: false })
    }
}

#[cfg(test)]
mod tests;
