//! Properties that hold for every framing of a stream.

use loomrec_provider::framing::{StreamEvent, events};
use loomrec_provider::{EventFrame, Framing};

/// Checks the events of a buffer, and those that are written from them.
pub fn check(framing: Framing, bytes: &[u8]) {
    let found: Vec<StreamEvent<'_>> = events(framing, bytes).collect();
    let again: Vec<StreamEvent<'_>> = events(framing, bytes).collect();
    assert_eq!(found, again, "the events of a buffer are always the same");
    let mut at = 0;
    for (place, event) in found.iter().enumerate() {
        assert_eq!(event.range.start, at, "events follow each other without a gap");
        assert!(event.range.end > at, "no event is empty");
        at = event.range.end;
        assert!(event.finished || place + 1 == found.len(), "only the last event can be cut");
    }
    assert_eq!(at, bytes.len(), "the events cover the buffer");
    check_cut(framing, bytes, &found);
    check_written(framing, &found);
}

/// Checks that complete events in a part of the buffer are the same as in the whole buffer.
fn check_cut(framing: Framing, bytes: &[u8], found: &[StreamEvent<'_>]) {
    // Half a line end, an array's element and a checksum may give another result.
    if !matches!(framing, Framing::Lines | Framing::EventStream) {
        return;
    }
    let cut = &bytes[..bytes.len() / 2];
    let whole = |events: &mut dyn Iterator<Item = StreamEvent<'_>>| -> usize {
        events.take_while(|event| event.finished && event.range.end <= cut.len()).count()
    };
    let before = whole(&mut events(framing, cut));
    let there = found.iter().take_while(|event| event.range.end <= cut.len()).count();
    assert!(before <= there, "a part of a buffer holds no more events than all of it");
    for (one, other) in events(framing, cut).take(before).zip(found) {
        assert_eq!(one, *other);
    }
}

/// Checks that events are read again as they were written.
fn check_written(framing: Framing, found: &[StreamEvent<'_>]) {
    let frames: Vec<EventFrame> = found
        .iter()
        .filter_map(StreamEvent::json_data)
        .map(|data| EventFrame { name: None, data: Some(data), exception: false })
        .collect();
    if frames.is_empty() {
        return;
    }
    let chunks = framing.write_events(&frames);
    assert_eq!(chunks.len(), frames.len(), "a chunk is an event");
    let bytes = chunks.concat();
    let read: Vec<_> = events(framing, &bytes).filter_map(|event| event.json_data()).collect();
    let written: Vec<_> = frames.into_iter().filter_map(|frame| frame.data).collect();
    assert_eq!(read, written, "what is written is read again");
}
