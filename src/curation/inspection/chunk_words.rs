//! The words in each chunk of a stream, without the events around them.

use loomrec_provider::{Framing, Operation, framing, read_answer};

/// The most bytes of a stream whose chunks are read.
const READ: usize = 4 << 20;
/// The most bytes of the events before the first words. They are read again for each chunk.
const START: usize = 8 << 10;

/// Returns for each piece of a stream the words in the events that end in it; `None` for a piece
/// without words.
pub(super) fn words_of_pieces<'p>(
    pieces: impl Iterator<Item = &'p [u8]> + Clone,
    framing: Framing,
    operation: Operation,
) -> Vec<Option<String>> {
    let bytes: Vec<u8> = pieces.clone().flatten().copied().take(READ + 1).collect();
    let mut words = Vec::new();
    if bytes.len() > READ {
        return words;
    }
    let mut ends = Vec::new();
    let mut start = None;
    for event in framing::events(framing, &bytes).filter(|event| event.finished) {
        let has_text = || operation.event_has_text(framing, &bytes[event.range.clone()]);
        if start.is_none() && has_text() {
            start = Some(event.range.start);
        }
        ends.push(event.range.end);
    }
    let start = start.unwrap_or(bytes.len());
    // What begins a message: without it, the events that follow do not belong to one.
    let beginning = bytes.get(..start.min(bytes.len())).filter(|events| events.len() <= START);
    let (mut from, mut end) = (start, 0);
    for piece in pieces {
        end += piece.len();
        let to = ends.partition_point(|event| *event <= end);
        let to = to.checked_sub(1).map_or(0, |last| ends[last]);
        let events = bytes.get(from..to).filter(|events| !events.is_empty());
        words.push(events.and_then(|events| {
            let events = [beginning.unwrap_or_default(), events].concat();
            let said = read_answer(operation, Some(framing), &events)?.content;
            (!said.is_empty()).then_some(said)
        }));
        from = from.max(to);
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words_of(operation: Operation, pieces: &[&[u8]]) -> Vec<Option<String>> {
        words_of_pieces(pieces.iter().copied(), Framing::Sse, operation)
    }

    #[test]
    fn words_are_those_of_the_events_that_end_in_a_piece() {
        let event = |text: &str| {
            let data = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
            format!("data: {data}\n\n")
        };
        let all = [event("a light "), event("coat"), "data: [DONE]\n\n".to_owned()].concat();
        let first = event("a light ").len();
        let pieces = [&all.as_bytes()[..9], &all.as_bytes()[9..first + 5]];
        let rest = &all.as_bytes()[first + 5..];
        let told = words_of(Operation::CHAT_COMPLETIONS, &[pieces[0], pieces[1], rest]);
        assert_eq!(told, [None, Some("a light ".to_owned()), Some("coat".to_owned())]);
        let told = words_of(Operation::CHAT_COMPLETIONS, &[b"no events", b""]);
        assert_eq!(told, [None, None]);
    }

    #[test]
    fn words_of_a_block_are_read_with_its_beginning() {
        let event = |data: serde_json::Value| format!("data: {data}\n\n");
        let delta = |text: &str| {
            let delta = json!({ "type": "text_delta", "text": text });
            event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
        };
        let begin = [
            event(
                json!({ "type": "message_start", "message": { "role": "assistant", "content": [],
                "model": "m", "usage": { "input_tokens": 1 } } }),
            ),
            event(json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "text", "text": "" } })),
        ]
        .concat();
        let (one, two) = (delta("light "), delta("rain"));
        let pieces = [begin.as_bytes(), one.as_bytes(), two.as_bytes(), b"data: {}\n\n"];
        let told = words_of(Operation::MESSAGES, &pieces);
        assert_eq!(told, [None, Some("light ".to_owned()), Some("rain".to_owned()), None]);
    }
}
