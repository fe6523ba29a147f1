//! The events of a stream, and which of them carry a piece of the answer's text.

use super::HELD;
use loomrec_provider::Operation;
use loomrec_provider::framing::{EventEnd, EventSplitter, Framing};

/// Finds the events that carry text in a stream that comes in chunks.
#[derive(Debug)]
pub(super) struct TextEvents {
    operation: Operation,
    framing: Framing,
    splitter: EventSplitter,
    /// The beginning of the event that is open.
    held: Vec<u8>,
    /// Whether the open event is too long to be held. It counts as one without text.
    is_too_long: bool,
}

impl TextEvents {
    /// The state at the beginning of a stream.
    pub(super) fn new(operation: Operation, framing: Framing) -> Self {
        let splitter = EventSplitter::new(framing);
        Self { operation, framing, splitter, held: Vec::new(), is_too_long: false }
    }

    /// Calls `on_end` for each event that ends in `chunk`, with the end's place in it and whether
    /// the event carries text.
    pub(super) fn split(&mut self, chunk: &[u8], mut on_end: impl FnMut(usize, bool)) {
        let mut ends = Vec::new();
        self.splitter.split(chunk, |EventEnd { at, carries }| ends.push((at, carries)));
        let mut from = 0;
        for (at, carries) in ends {
            self.hold(&chunk[from..at]);
            let event = std::mem::take(&mut self.held);
            let is_too_long = std::mem::take(&mut self.is_too_long);
            let is_read = carries && !is_too_long;
            on_end(at, is_read && self.operation.event_has_text(self.framing, &event));
            from = at;
        }
        self.hold(&chunk[from..]);
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.held.len() + bytes.len() > HELD;
        match self.is_too_long {
            true => self.held.clear(),
            false => self.held.extend_from_slice(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_calls::{FRAMINGS, stream};
    use serde_json::json;

    /// How many events carry text, if the stream comes in pieces of this size.
    fn texts(operation: Operation, framing: Framing, bytes: &[u8], size: usize) -> usize {
        let mut events = TextEvents::new(operation, framing);
        let mut texts = 0;
        let mut count = |_, has_text| texts += usize::from(has_text);
        bytes.chunks(size).for_each(|chunk| events.split(chunk, &mut count));
        texts
    }

    #[test]
    fn texts_are_counted_wherever_chunks_cut_their_events() {
        let chunk = |delta: serde_json::Value| json!({ "choices": [{ "delta": delta }] });
        let data = [
            chunk(json!({ "role": "assistant", "content": "" })),
            chunk(json!({ "content": "a" })),
            chunk(json!({ "content": "b" })),
            chunk(json!({})),
        ];
        for framing in FRAMINGS {
            let bytes = stream(framing, &data);
            for size in [1, 7, 50, bytes.len()] {
                let found = texts(Operation::CHAT_COMPLETIONS, framing, &bytes, size);
                assert_eq!(found, 2, "{framing:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn an_event_that_is_too_long_is_not_held() {
        let mut events = TextEvents::new(Operation::CHAT_COMPLETIONS, Framing::Sse);
        let mut ends = 0;
        for _ in 0..=HELD / (1 << 20) {
            events.split(&vec![b'x'; 1 << 20], |_, _| ends += 1);
        }
        assert!(events.held.is_empty());
        let text = br#"{"choices": [{"delta": {"content": "a"}}]}"#;
        let rest = [b"\n\ndata: ", &text[..], b"\n\n"].concat();
        let mut texts = Vec::new();
        events.split(&rest, |_, has_text| texts.push(has_text));
        assert_eq!((ends, texts), (0, vec![false, true]));
    }
}
