//! Splitting a stream into events, however its bytes are divided into chunks.

use super::Framing;
use super::array::ArraySplitter;
use super::event_stream::MessageSplitter;
use super::json_lines::LineSplitter;
use super::split_state::{EventEnd, OpenEvent};
use super::sse::SseSplitter;

/// The state between two chunks of a stream. Memory does not grow with the stream.
#[derive(Debug)]
pub struct EventSplitter(FramingSplitter);

#[derive(Debug)]
enum FramingSplitter {
    Sse(SseSplitter),
    Lines(LineSplitter),
    Array(ArraySplitter),
    EventStream(MessageSplitter),
}

impl EventSplitter {
    /// A splitter at the beginning of a stream.
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Sse => FramingSplitter::Sse(SseSplitter::default()),
            Framing::Lines => FramingSplitter::Lines(LineSplitter::default()),
            Framing::Array => FramingSplitter::Array(ArraySplitter::default()),
            Framing::EventStream => FramingSplitter::EventStream(MessageSplitter::default()),
        })
    }

    /// Returns the first end of an event in `bytes`, which follow what was passed before. The next
    /// call gets the bytes after that end. `None` means that all bytes were passed.
    pub fn next_end(&mut self, bytes: &[u8]) -> Option<EventEnd> {
        match &mut self.0 {
            FramingSplitter::Sse(splitter) => splitter.next_end(bytes),
            FramingSplitter::Lines(splitter) => splitter.next_end(bytes),
            FramingSplitter::Array(splitter) => splitter.next_end(bytes),
            FramingSplitter::EventStream(splitter) => splitter.next_end(bytes),
        }
    }

    /// Calls `on_end` for each event that ends in `chunk`, with the end's place in it.
    pub fn split(&mut self, chunk: &[u8], mut on_end: impl FnMut(EventEnd)) {
        let mut start = 0;
        while let Some(EventEnd { at, carries }) = self.next_end(&chunk[start..]) {
            start += at;
            on_end(EventEnd { at: start, carries });
        }
    }

    /// The event that is open if the stream ends here; `None` after the end of an event.
    pub fn open_event(&self) -> Option<OpenEvent> {
        match &self.0 {
            FramingSplitter::Sse(splitter) => splitter.open_event(),
            FramingSplitter::Lines(splitter) => splitter.open_event(),
            FramingSplitter::Array(splitter) => splitter.open_event(),
            FramingSplitter::EventStream(splitter) => splitter.open_event(),
        }
    }
}

#[cfg(test)]
#[path = "event_splitter_tests.rs"]
mod tests;
