//! Values of this run put in the place of recorded ones in an answer, also where a value is spread
//! over several events of a stream.

use std::ops::Range;

use super::super::body::Chunk;
use super::decoded_text::DecodedText;
use super::edit::{Replacement, replace_in_chunks};
use super::joined::join;
use super::text_channel::{EventString, EventStrings};
use super::text_group::by_channel;
use super::text_stream::{EventData, joined};
use loomrec_identity::ValueReplacer;
use loomrec_provider::{Framing, Operation};

/// Replaces values in the strings of an answer's body, which is not compressed. The first piece of
/// a value gets the new text, and the other pieces lose theirs. The chunks and their times stay, and
/// all other bytes do. Returns whether anything was replaced.
///
/// A stream of AWS messages is left as it is.
pub fn replace_values(
    operation: Operation,
    media: &str,
    chunks: &mut [Chunk],
    replacer: &ValueReplacer,
) -> bool {
    let body = join(chunks);
    let edits = match Framing::answered(operation, media, &body) {
        Some(Framing::EventStream) => return false,
        Some(framing) => in_stream(framing, &body, replacer),
        None if !replacer.may_change(&body) => return false,
        None => in_document(&body, replacer),
    };
    if edits.is_empty() {
        return false;
    }
    replace_in_chunks(body, chunks, &edits);
    true
}

fn in_stream(framing: Framing, bytes: &[u8], replacer: &ValueReplacer) -> Vec<Replacement> {
    let data = EventData::new(framing, bytes);
    let Some(text) = &data.text else { return in_events(bytes, &data.events, replacer) };
    // The data of an event has several lines: its places are those of the decoded data.
    let edits = in_events(text.bytes(), &data.events, replacer);
    let ranges: Vec<Range<usize>> = edits.iter().map(|edit| edit.range.clone()).collect();
    let placed = text.source_ranges(bytes, &ranges);
    let pairs = placed.into_iter().zip(edits);
    in_order(pairs.flat_map(|(places, edit)| spread(places, &edit.new)).collect())
}

/// Returns the replacements in a document: in each string of JSON, or in a plain text.
fn in_document(body: &[u8], replacer: &ValueReplacer) -> Vec<Replacement> {
    let mut strings = EventStrings::default();
    if !strings.add_event(body, 0..body.len()) {
        return in_plain(body, 0..body.len(), replacer);
    }
    let may_hold = |string: &&EventString| {
        string.text.escaped || replacer.is_any_in(&body[string.text.range.clone()])
    };
    let strings = strings.values.iter().filter(may_hold);
    in_order(strings.flat_map(|string| in_text(&joined(body, &[string]), body, replacer)).collect())
}

/// Returns the replacements in the data of events, and in the texts that are spread over them.
fn in_events(text: &[u8], events: &[Range<usize>], replacer: &ValueReplacer) -> Vec<Replacement> {
    let mut strings = EventStrings::default();
    let mut edits = Vec::new();
    for event in events {
        let count = strings.values.len();
        if !strings.add_event(text, event.clone()) {
            strings.values.truncate(count);
            edits.extend(in_plain(text, event.clone(), replacer));
        }
    }
    let texts = by_channel(&strings.values);
    edits.extend(texts.iter().flat_map(|pieces| in_text(&joined(text, pieces), text, replacer)));
    in_order(edits)
}

/// Returns the replacements in a text that is not JSON.
fn in_plain(text: &[u8], place: Range<usize>, replacer: &ValueReplacer) -> Vec<Replacement> {
    let mut plain = DecodedText::default();
    plain.push_verbatim(text, place);
    in_text(&plain, text, replacer)
}

/// Returns the replacements in a decoded text, at their places in the source.
fn in_text(decoded: &DecodedText, source: &[u8], replacer: &ValueReplacer) -> Vec<Replacement> {
    let Ok(text) = std::str::from_utf8(decoded.bytes()) else { return Vec::new() };
    let (ranges, new): (Vec<_>, Vec<_>) = replacer.find(text).unzip();
    let places = decoded.source_ranges(source, &ranges).into_iter();
    places.zip(new).flat_map(|(places, new)| spread(places, new.as_bytes())).collect()
}

/// Puts a new text at the first of some places, and nothing at the others.
fn spread(places: Vec<Range<usize>>, new: &[u8]) -> impl Iterator<Item = Replacement> + use<> {
    let mut new = new.to_vec();
    places.into_iter().map(move |range| Replacement {
        range,
        new: std::mem::take(&mut new),
        kept: (0, 0),
        divided: false,
    })
}

fn in_order(mut edits: Vec<Replacement>) -> Vec<Replacement> {
    edits.sort_by_key(|edit| edit.range.start);
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::{BoundValues, RunBinding, RunValues};

    fn values(cwd: &str) -> RunValues {
        [("cwd".to_owned(), cwd.to_owned())].into_iter().collect()
    }

    /// The chunks of an answer in another directory.
    fn moved(media: &str, chunks: &[&str]) -> Vec<String> {
        let binding = RunBinding::new(&values("/home/ann/app"), &values("/ci/7"), &[]).unwrap();
        let mut bound = BoundValues::default();
        bound.values.insert("cwd".to_owned(), 1);
        let replacer = binding.replacer(&bound).unwrap();
        let chunk = |text: &&str| Chunk { at_ms: 1.0, data: text.to_string().into() };
        let mut chunks: Vec<Chunk> = chunks.iter().map(chunk).collect();
        replace_values(Operation::CHAT_COMPLETIONS, media, &mut chunks, &replacer);
        chunks.iter().map(|chunk| String::from_utf8(chunk.data.to_vec()).unwrap()).collect()
    }

    #[test]
    fn values_are_replaced_in_the_strings_of_a_complete_answer() {
        let answer = r#"{"a": "cat \/home/ann/app/x", "b" : "{\"p\":\"/home/ann/app\"}", "/home/ann/app": "/home/ann/apple"}"#;
        assert_eq!(
            moved("application/json", &[answer]),
            [
                r#"{"a": "cat /ci/7/x", "b" : "{\"p\":\"/ci/7\"}", "/home/ann/app": "/home/ann/apple"}"#
            ]
        );
        assert_eq!(moved("text/plain", &["in /home/ann/app"]), ["in /ci/7"]);
    }

    #[test]
    fn value_that_is_spread_over_deltas_is_replaced() {
        let event = |text: &str| format!("data: {{\"index\":0,\"delta\":\"{text}\"}}\n\n");
        let chunks =
            [event("cat /home"), event("/ann"), event("/app/x"), event(" /home/ann/apple")];
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let expected = [event("cat /ci/7"), event(""), event("/x"), event(" /home/ann/apple")];
        assert_eq!(moved("text/event-stream", &chunks), expected);
        // A chunk may end within an event.
        let joined = chunks.concat();
        let (one, two) = joined.split_at(50);
        assert_eq!(moved("text/event-stream", &[one, two]).concat(), expected.concat());
    }
}
