//! Paths of this run put in the place of recorded ones in an answer, also where a path is spread
//! over several events of a stream.

use std::ops::Range;

use super::super::body::Chunk;
use super::decoded_text::DecodedText;
use super::edit::{Replacement, replace_in_chunks};
use super::joined::join_chunks;
use super::json_tokens::JsonText;
use super::text_channel::{EventString, EventStrings};
use super::text_group::by_channel;
use super::text_stream::{EventData, join_pieces};
use loomrec_identity::{RunBinding, UnclearPath};
use loomrec_provider::{Framing, Operation};

/// Members whose strings are no text of an answer, and are never changed.
const NO_TEXT: [&[u8]; 11] = [
    b"b64_json",
    b"bytes",
    b"call_id",
    b"data",
    b"encrypted_content",
    b"item_id",
    b"name",
    b"redacted_thinking",
    b"signature",
    b"thoughtSignature",
    b"token",
];

/// Members that are about places in a text: they would no longer be right.
const OFFSETS: [&[u8]; 10] = [
    b"endIndex",
    b"end_char_index",
    b"end_index",
    b"end_offset",
    b"logprob",
    b"startIndex",
    b"start_char_index",
    b"start_index",
    b"start_offset",
    b"text_offset",
];

/// Replaces paths in the texts of an answer and in the strings that it calls tools with, which are
/// not compressed. The first piece of a path gets the new text, and the other pieces lose theirs.
/// The chunks and their times stay, and all other bytes do. Returns whether anything was replaced.
///
/// # Errors
/// Nothing says what a path in the answer stands for, the answer has places in its texts, or it is a
/// stream of AWS messages.
pub fn replace_paths(
    operation: Operation,
    media: &str,
    chunks: &mut [Chunk],
    binding: &RunBinding,
) -> Result<bool, UnclearPath> {
    if !binding.changes_paths() {
        return Ok(false);
    }
    let body = join_chunks(chunks);
    let edits = match Framing::from_answer(operation, media, &body) {
        Some(Framing::EventStream) => return Err(UnclearPath),
        Some(framing) => in_stream(framing, &body, binding)?,
        None => in_document(media, &body, binding)?,
    };
    if edits.is_empty() {
        return Ok(false);
    }
    replace_in_chunks(body, chunks, &edits);
    Ok(true)
}

/// The replacements in an answer. It is an error if a replacement would be wrong.
type Replacements = Result<Vec<Replacement>, UnclearPath>;

fn in_stream(framing: Framing, bytes: &[u8], binding: &RunBinding) -> Replacements {
    let data = EventData::new(framing, bytes);
    let Some(text) = &data.text else { return in_events(bytes, &data.events, binding) };
    // The data of an event has several lines: its places are those of the decoded data.
    let edits = in_events(text.as_bytes(), &data.events, binding)?;
    let ranges: Vec<Range<usize>> = edits.iter().map(|edit| edit.range.clone()).collect();
    let placed = text.source_ranges(bytes, &ranges);
    let pairs = placed.into_iter().zip(edits);
    Ok(in_order(pairs.flat_map(|(places, edit)| spread_text(places, &edit.new)).collect()))
}

/// Returns the replacements in a document: in each string of JSON, or in a plain text.
fn in_document(media: &str, body: &[u8], binding: &RunBinding) -> Replacements {
    let mut strings = EventStrings::default();
    if strings.add_event(body, 0..body.len()) {
        let pieces = strings.values.iter().map(|string| vec![string]).collect();
        return in_strings(body, &strings, pieces, Vec::new(), binding);
    }
    let is_text = media.is_empty() || media.starts_with("text/") || media.contains("json");
    if is_text { in_plain(body, 0..body.len(), binding) } else { Ok(Vec::new()) }
}

/// Returns the replacements in the data of events, and in the texts that are spread over them.
fn in_events(text: &[u8], events: &[Range<usize>], binding: &RunBinding) -> Replacements {
    let mut strings = EventStrings::default();
    let mut edits = Vec::new();
    for event in events {
        let count = strings.values.len();
        if !strings.add_event(text, event.clone()) {
            strings.values.truncate(count);
            edits.extend(in_plain(text, event.clone(), binding)?);
        }
    }
    let pieces = by_channel(&strings.values);
    in_strings(text, &strings, pieces, edits, binding)
}

/// Returns the replacements in strings, each of these pieces, beside those in other texts.
fn in_strings(
    source: &[u8],
    strings: &EventStrings,
    pieces: Vec<Vec<&EventString>>,
    mut edits: Vec<Replacement>,
    binding: &RunBinding,
) -> Replacements {
    for pieces in &pieces {
        if !may_hold(source, pieces, binding) {
            continue;
        }
        let found = in_text(&join_pieces(source, pieces), source, binding)?;
        let is_text = pieces.first().is_some_and(|piece| is_text(piece));
        // What is never changed would be wrong here.
        if !is_text && !found.is_empty() {
            return Err(UnclearPath);
        }
        edits.extend(found);
    }
    let holds_path = |name: &JsonText| {
        let text = name.decoded_bytes(source);
        binding.may_hold(&text)
            && std::str::from_utf8(&text).is_ok_and(|text| {
                binding.find_paths(text).is_ok_and(|it| it.iter().any(|it| it.text.is_some()))
            })
    };
    if strings.names.iter().any(holds_path) {
        return Err(UnclearPath);
    }
    let is_offset = |name: &JsonText| OFFSETS.contains(&&*name.decoded_bytes(source));
    if !edits.is_empty() && strings.names.iter().any(is_offset) {
        return Err(UnclearPath);
    }
    Ok(in_order(edits))
}

/// Whether a string is a text of the answer, or one that it calls a tool with.
fn is_text(string: &EventString) -> bool {
    string.channel.is_some_and(|channel| !NO_TEXT.iter().any(|name| channel.has_name(name)))
}

/// Whether the pieces of a text may hold a path. A path may be spread over them.
fn may_hold(source: &[u8], pieces: &[&EventString], binding: &RunBinding) -> bool {
    match pieces {
        [piece] => piece.text.escaped || binding.may_hold(&source[piece.text.range.clone()]),
        _ => true,
    }
}

/// Returns the replacements in a text that is not JSON.
fn in_plain(text: &[u8], place: Range<usize>, binding: &RunBinding) -> Replacements {
    let mut plain = DecodedText::default();
    plain.push_verbatim(text, place);
    in_text(&plain, text, binding)
}

/// Returns the replacements in a decoded text, at their places in the source.
fn in_text(decoded: &DecodedText, source: &[u8], binding: &RunBinding) -> Replacements {
    let Ok(text) = std::str::from_utf8(decoded.as_bytes()) else { return Ok(Vec::new()) };
    let found = binding.find_paths(text)?;
    // JSON in a text may hide a path.
    if text.contains("\\/") || text.contains("\\u") {
        let shown = text.replace("\\/", "/").replace("\\u002f", "/").replace("\\u002F", "/");
        if binding.find_paths(&shown)?.len() != found.len() {
            return Err(UnclearPath);
        }
    }
    let changed = found.into_iter().filter_map(|path| Some((path.range, path.text?)));
    let (ranges, new): (Vec<_>, Vec<_>) = changed.unzip();
    let places = decoded.source_ranges(source, &ranges).into_iter();
    Ok(places.zip(new).flat_map(|(places, new)| spread_text(places, new.as_bytes())).collect())
}

/// Puts a new text at the first of some places, and nothing at the others.
fn spread_text(places: Vec<Range<usize>>, new: &[u8]) -> impl Iterator<Item = Replacement> + use<> {
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
    use loomrec_identity::RunValues;

    fn values(cwd: &str) -> RunValues {
        [("cwd".to_owned(), cwd.to_owned())].into_iter().collect()
    }

    /// The chunks of an answer in another directory; `None` if it cannot be bound.
    fn moved(media: &str, chunks: &[&str]) -> Option<Vec<String>> {
        let binding = RunBinding::new(&values("/home/ann/app"), &values("/ci/7"));
        let chunk = |text: &&str| Chunk { at_ms: 1.0, data: text.to_string().into() };
        let mut chunks: Vec<Chunk> = chunks.iter().map(chunk).collect();
        replace_paths(Operation::CHAT_COMPLETIONS, media, &mut chunks, &binding).ok()?;
        let text = |chunk: &Chunk| String::from_utf8(chunk.data.to_vec()).unwrap();
        Some(chunks.iter().map(text).collect())
    }

    #[test]
    fn paths_are_replaced_in_the_texts_of_a_complete_answer() {
        let answer = r#"{"a": "cat \/home/ann/app/x", "b" : "{\"p\":\"/home/ann/app\"}", "c": "/home/ann/apple", "role": "app"}"#;
        let expected = answer.replacen("\\/home/ann/app/x", "/ci/7/x", 1).replacen(
            "\\\"/home/ann/app\\\"",
            "\\\"/ci/7\\\"",
            1,
        );
        assert_eq!(moved("application/json", &[answer]).unwrap(), [expected]);
        assert_eq!(moved("text/plain", &["in /home/ann/app"]).unwrap(), ["in /ci/7"]);
        let audio = "in /home/ann/app";
        assert_eq!(moved("audio/mpeg", &[audio]).unwrap(), [audio]);
    }

    #[test]
    fn path_that_is_spread_over_deltas_is_replaced() {
        let event = |text: &str| format!("data: {{\"index\":0,\"delta\":\"{text}\"}}\n\n");
        let chunks =
            [event("cat /home"), event("/ann"), event("/app/x"), event(" /home/ann/apple")];
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let expected = [event("cat /ci/7"), event(""), event("/x"), event(" /home/ann/apple")];
        assert_eq!(moved("text/event-stream", &chunks).unwrap(), expected);
        // A chunk may end within an event.
        let joined = chunks.concat();
        let (one, two) = joined.split_at(50);
        assert_eq!(moved("text/event-stream", &[one, two]).unwrap().concat(), expected.concat());
    }

    #[test]
    fn answer_is_not_bound_where_a_replacement_would_be_wrong() {
        for answer in [
            r#"{"content": "in /home/ann/app", "annotations": [{"start_index": 3}]}"#,
            r#"{"content": "in /home/ann/app", "logprobs": {"content": [{"logprob": -1}]}}"#,
            r#"{"content": "copy /home/ann/app to /ci/7"}"#,
            r#"{"id": "/home/ann/app"}"#,
            r#"{"function": {"name": "/home/ann/app"}}"#,
            r#"{"signature": "/home/ann/app"}"#,
            r#"{"input": {"/home/ann/app": 1}}"#,
            r#"{"arguments": "{\"p\": \"\\/home\\/ann\\/app\"}"}"#,
        ] {
            assert_eq!(moved("application/json", &[answer]), None, "{answer}");
        }
        let plain = r#"{"content": "in /tmp", "annotations": [{"start_index": 3}]}"#;
        assert_eq!(moved("application/json", &[plain]).unwrap(), [plain]);
        assert_eq!(moved("application/vnd.amazon.eventstream", &["x"]), None);
    }
}
