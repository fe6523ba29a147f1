//! The chunks of a stream: their times, the gaps between them, and their texts.

use serde_json::{Value, json};

use super::text::{MOST, cut_to_length};
use super::{chunk_words, event};
use loomrec_provider::{Framing, Operation};
use loomrec_recording::{Chunk, encoding};

/// The most chunks that are listed.
const LISTED: usize = 2000;
/// The most bytes of one chunk's text.
const SHOWN: usize = 4 << 10;
/// The most bytes that are shown of a chunk that is not a text.
const HEX: usize = 32;

/// How a stream is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamForm<'a> {
    pub(super) operation: Operation,
    pub(super) framing: Option<Framing>,
    /// The content encoding of the bytes.
    pub(super) coding: Option<&'a str>,
}

/// Returns the chunks as JSON.
pub(super) fn to_json(chunks: &[Chunk], form: StreamForm<'_>) -> Value {
    let StreamForm { operation, framing, coding } = form;
    let shown = &chunks[..chunks.len().min(LISTED)];
    let plain = coding.map(|coding| decode_chunks(shown, coding));
    let texts = chunk_texts(shown, framing, plain.as_deref());
    let pieces = shown.iter().enumerate();
    let pieces = pieces.map(|(at, chunk)| match &plain {
        Some(plain) => plain[at].as_slice(),
        None => chunk.data.as_ref(),
    });
    let words = framing.map(|framing| chunk_words::words_of_pieces(pieces, framing, operation));
    let mut words = words.unwrap_or_default().into_iter();
    let (mut budget, mut before, mut list) = (MOST, 0.0, Vec::with_capacity(shown.len()));
    for (chunk, text) in shown.iter().zip(texts) {
        let text = cut_to_length(&text, SHOWN.min(budget));
        let words = words.next().flatten().map(|words| cut_to_length(&words, SHOWN.min(budget)));
        budget = budget.saturating_sub(text.len() + words.as_ref().map_or(0, String::len));
        list.push(json!({
            "at_ms": round_millis(chunk.at_ms),
            "gap_ms": round_millis(chunk.at_ms - before),
            "bytes": chunk.data.len(),
            "text": text,
            "words": words,
        }));
        before = chunk.at_ms;
    }
    json!({ "total": chunks.len(), "more": chunks.len() > list.len(), "list": list })
}

/// Returns the bytes of each chunk without their content encoding.
fn decode_chunks(chunks: &[Chunk], coding: &str) -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.data.as_ref()).collect();
    let mut plain = vec![Vec::new(); chunks.len()];
    for piece in encoding::decode_pieces(coding, &pieces, 8 * MOST).unwrap_or_default() {
        if let Some(of) = plain.get_mut(piece.of) {
            of.extend_from_slice(&piece.data);
        }
    }
    plain
}

/// Returns the text of each chunk. `plain` has its bytes if they are encoded.
fn chunk_texts(
    chunks: &[Chunk],
    framing: Option<Framing>,
    plain: Option<&[Vec<u8>]>,
) -> Vec<String> {
    match (framing, plain) {
        (Some(Framing::EventStream), None) => event::chunk_texts(chunks),
        (_, None) => chunks.iter().map(|chunk| chunk_text(&chunk.data)).collect(),
        (_, Some(plain)) => {
            let said = |(plain, chunk): (&Vec<u8>, &Chunk)| match plain.is_empty() {
                true => chunk_text(&chunk.data),
                false => chunk_text(plain),
            };
            plain.iter().zip(chunks).map(said).collect()
        }
    }
}

/// Returns the text of a chunk, or its first bytes if it is not a text.
fn chunk_text(data: &[u8]) -> String {
    let told = String::from_utf8_lossy(data);
    // A chunk may begin or end inside a character. With more invalid bytes, it is not a text.
    if told.chars().filter(|&character| character == '\u{fffd}').count() <= 6 {
        return told.into_owned();
    }
    let hex: Vec<String> = data.iter().take(HEX).map(|byte| format!("{byte:02x}")).collect();
    format!("<{}{}>", hex.join(" "), if data.len() > HEX { " …" } else { "" })
}

/// Rounds to three decimal places.
pub(super) fn round_millis(milliseconds: f64) -> f64 {
    (milliseconds * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(at_ms: f64, data: &[u8]) -> Chunk {
        Chunk { at_ms, data: data.to_vec().into() }
    }

    fn form(framing: Option<Framing>) -> StreamForm<'static> {
        StreamForm { operation: Operation::OTHER, framing, coding: None }
    }

    #[test]
    fn chunks_are_listed_with_their_times_up_to_a_bound() {
        let few = [chunk(10.0, b"data: a\n\n"), chunk(12.5, "data: é\n\n".as_bytes())];
        let told = to_json(&few, form(Some(Framing::Sse)));
        assert_eq!(told["total"], 2);
        assert_eq!(told["more"], false);
        let second = json!({"at_ms": 12.5, "gap_ms": 2.5, "bytes": 10, "text": "data: é\n\n",
            "words": null});
        assert_eq!(told["list"][1], second);
        let many = vec![chunk(1.0, &[b'x'; 5000]); 3000];
        let told = to_json(&many, form(None));
        assert_eq!((&told["total"], &told["more"]), (&json!(3000), &json!(true)));
        assert_eq!(told["list"].as_array().unwrap().len(), LISTED);
        assert!(told.to_string().len() < 2 * MOST, "{}", told.to_string().len());
    }

    #[test]
    fn bytes_that_are_no_text_are_told_as_bytes() {
        let told = to_json(&[chunk(0.0, &[0xff; 40])], form(None));
        assert!(told["list"][0]["text"].as_str().unwrap().starts_with("<ff ff"), "{told}");
    }
}
