//! The events of a whole stream in one buffer.

use std::ops::Range;

use super::event::StreamEvent;
use super::event_splitter::EventSplitter;
use super::event_stream::BufferMessage;
use super::split_state::{EventEnd, OpenEvent};
use super::{Framing, array, event_stream, json_lines, sse};

/// Iterates over the events of a buffer. Their ranges are contiguous and cover it.
#[derive(Debug)]
pub struct BufferEvents<'a> {
    framing: Framing,
    bytes: &'a [u8],
    at: usize,
    splitter: EventSplitter,
}

/// Iterates over the events of a buffer, in order. An event that is cut is the last.
pub fn events(framing: Framing, bytes: &[u8]) -> BufferEvents<'_> {
    BufferEvents { framing, bytes, at: 0, splitter: EventSplitter::new(framing) }
}

/// Iterates over the lines of server-sent events: the place of each line, without its end, and the
/// number of its event.
pub fn sse_lines(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    let mut spans = events(Framing::Sse, bytes);
    let spans = std::iter::from_fn(move || spans.next_span()).enumerate();
    spans.flat_map(|(number, span)| {
        let start = span.range.start;
        let lines = sse::line_ranges(&bytes[span.range], start == 0);
        lines.map(move |line| (start + line.start..start + line.end, number))
    })
}

/// Iterates over the messages of an event stream. Their ranges are contiguous and cover the buffer.
pub fn event_stream_messages(bytes: &[u8]) -> impl Iterator<Item = BufferMessage<'_>> {
    let mut spans = events(Framing::EventStream, bytes);
    let spans = std::iter::from_fn(move || spans.next_span());
    spans.map(|span| BufferMessage::from_bytes(&bytes[span.range.clone()], span.range))
}

/// The place of one event.
struct EventSpan {
    range: Range<usize>,
    /// Whether its end was found.
    ended: bool,
    state: OpenEvent,
}

impl BufferEvents<'_> {
    fn next_span(&mut self) -> Option<EventSpan> {
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let end = self.splitter.next_end(rest);
        let (length, state) = match end {
            Some(EventEnd { at, carries }) => {
                (at, OpenEvent { carries, finished: true, lost: false })
            }
            None => (rest.len(), self.splitter.open_event()?),
        };
        self.at = start + length;
        Some(EventSpan { range: start..self.at, ended: end.is_some(), state })
    }
}

impl<'a> Iterator for BufferEvents<'a> {
    type Item = StreamEvent<'a>;

    fn next(&mut self) -> Option<StreamEvent<'a>> {
        let EventSpan { range, ended, state } = self.next_span()?;
        let (bytes, is_first) = (&self.bytes[range.clone()], range.start == 0);
        let event = match self.framing {
            Framing::Sse => sse::read_event(bytes, is_first),
            Framing::Lines => json_lines::read_event(bytes),
            Framing::Array => array::read_event(bytes, is_first, state.carries),
            Framing::EventStream if ended => event_stream::read_event(bytes),
            Framing::EventStream => StreamEvent { failed: state.lost, ..StreamEvent::empty() },
        };
        Some(StreamEvent { range, finished: state.finished, ..event })
    }
}
