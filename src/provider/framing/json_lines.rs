//! The framing with a JSON value on each line.

use std::borrow::Cow;

use super::event::{EventFrame, StreamEvent, one_line};
use super::split_state::{EventEnd, OpenEvent};

/// Finds the ends of lines.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    begun: bool,
    carries: bool,
}

impl LineSplitter {
    pub(super) fn next_end(&mut self, bytes: &[u8]) -> Option<EventEnd> {
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        self.begun |= !part.is_empty();
        self.carries |= !part.trim_ascii().is_empty();
        let Self { carries, .. } = end.map(|_| std::mem::take(self))?;
        Some(EventEnd { at: part.len() + 1, carries })
    }

    pub(super) fn open_event(&self) -> Option<OpenEvent> {
        let carries = self.carries;
        self.begun.then_some(OpenEvent { carries, finished: false, lost: false })
    }
}

/// Reads one line.
pub(super) fn read_event(line: &[u8]) -> StreamEvent<'_> {
    let line = line.trim_ascii();
    StreamEvent { data: (!line.is_empty()).then_some(Cow::Borrowed(line)), ..StreamEvent::empty() }
}

/// The bytes of an event.
pub(super) fn write_event(frame: &EventFrame) -> Vec<u8> {
    let text = frame.data.as_ref().map_or_else(String::new, |data| format!("{}\n", one_line(data)));
    text.into_bytes()
}
