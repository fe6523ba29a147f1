//! Addresses of an API in the events of a streamed answer. Chunks pass as they arrive, so an address
//! is changed only if it is in the chunk that ends its event.

use std::borrow::Cow;
use std::ops::Range;

use loomrec_provider::framing::{EventSplitter, Framing, sse_lines};
use loomrec_provider::{AddressMembers, find_addresses};

/// The most bytes of an event that is searched.
const MOST: usize = 1 << 20;

/// What was found in a stream.
pub(super) enum EventFinding<'a> {
    /// An address.
    Address {
        /// The member that holds it, as in `urls.get`.
        member: &'a str,
        /// The address.
        text: &'a str,
        /// Whether it was sent on before the end of its event.
        is_early: bool,
    },
    /// An event that is too large. What follows it is not searched.
    TooLarge,
}

/// The state between two chunks of a stream.
pub(super) struct EventAddresses {
    framing: Framing,
    members: AddressMembers,
    splitter: EventSplitter,
    /// The open event as far as it has arrived.
    open: Vec<u8>,
    /// Whether an event was too large.
    is_given_up: bool,
}

/// Where an event, or its rest, is in a chunk.
struct ChunkPlace {
    /// How many bytes of the event came before the chunk.
    before: usize,
    /// Where it begins in the chunk.
    start: usize,
}

impl EventAddresses {
    /// Returns the state at the beginning of a stream.
    pub(super) fn new(framing: Framing, members: AddressMembers) -> Self {
        let (splitter, open) = (EventSplitter::new(framing), Vec::new());
        Self { framing, members, splitter, open, is_given_up: false }
    }

    /// Returns a chunk with what `serve` returns in the place of its addresses; `None` if nothing
    /// changes.
    pub(super) fn replace_addresses(
        &mut self,
        chunk: &[u8],
        mut serve: impl FnMut(EventFinding<'_>) -> Option<String>,
    ) -> Option<Vec<u8>> {
        if self.is_given_up {
            return None;
        }
        let (mut edits, mut start) = (Vec::new(), 0);
        while let Some(end) = self.splitter.next_end(&chunk[start..]) {
            let stop = start + end.at;
            let mut event = std::mem::take(&mut self.open);
            let place = ChunkPlace { before: event.len(), start };
            let event = match place.before {
                0 => Cow::Borrowed(&chunk[start..stop]),
                _ => {
                    event.extend_from_slice(&chunk[start..stop]);
                    Cow::Owned(event)
                }
            };
            self.search_event(&event, &place, &mut serve, &mut edits);
            start = stop;
        }
        self.open.extend_from_slice(&chunk[start..]);
        if self.open.len() > MOST {
            serve(EventFinding::TooLarge);
            (self.open, self.is_given_up) = (Vec::new(), true);
        }
        (!edits.is_empty()).then(|| replace_strings(chunk, edits))
    }

    /// Searches a whole event, whose last part is in the chunk.
    fn search_event(
        &self,
        event: &[u8],
        place: &ChunkPlace,
        serve: &mut impl FnMut(EventFinding<'_>) -> Option<String>,
        edits: &mut Vec<(Range<usize>, String)>,
    ) {
        for document in self.json_documents(event) {
            for found in find_addresses(&event[document.clone()], self.members) {
                let at = document.start + found.place.start..document.start + found.place.end;
                let is_early = at.start < place.before;
                let (member, text) = (found.member.as_str(), &*found.text);
                if let Some(local) = serve(EventFinding::Address { member, text, is_early })
                    && !is_early
                {
                    let in_chunk = |at: usize| at - place.before + place.start;
                    edits.push((in_chunk(at.start)..in_chunk(at.end), local));
                }
            }
        }
    }

    /// Returns the places of an event's JSON documents: a line, or the value of each data line.
    fn json_documents(&self, event: &[u8]) -> Vec<Range<usize>> {
        match self.framing {
            Framing::Sse => sse_lines(event)
                .filter_map(|(line, _)| {
                    let value = event[line.clone()].strip_prefix(b"data:")?;
                    Some(line.end - value.len()..line.end)
                })
                .collect(),
            _ => std::iter::once(0..event.len()).collect(),
        }
    }
}

/// Returns a JSON text with other strings at these places, which are in order.
pub(super) fn replace_strings(text: &[u8], edits: Vec<(Range<usize>, String)>) -> Vec<u8> {
    let mut spliced = Vec::with_capacity(text.len() + 64 * edits.len());
    let mut done = 0;
    for (place, address) in edits {
        spliced.extend_from_slice(text.get(done..place.start).unwrap_or_default());
        let quoted = serde_json::Value::from(address).to_string();
        spliced.extend_from_slice(quoted.get(1..quoted.len() - 1).unwrap_or_default().as_bytes());
        done = place.end;
    }
    spliced.extend_from_slice(text.get(done..).unwrap_or_default());
    spliced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_of_a_text_stay_when_its_strings_change() {
        let text = br#"{ "a" :"one", "b":["two"]}"#;
        let edits = vec![(8..11, "1\"".to_owned()), (20..23, String::new())];
        let changed = String::from_utf8(replace_strings(text, edits)).unwrap();
        assert_eq!(changed, r#"{ "a" :"1\"", "b":[""]}"#);
    }
}
