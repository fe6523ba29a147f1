//! Streams and calls for the tests.

use bytes::Bytes;
use serde_json::Value;

use loomrec_provider::framing::EventFrame;
use loomrec_provider::{Framing, Operation, ResponseFormat, TranscriptFormat, VectorTypes};

/// All framings.
pub(super) const FRAMINGS: [Framing; 4] =
    [Framing::Sse, Framing::Lines, Framing::Array, Framing::EventStream];

/// A call of `operation` whose streams have this framing.
pub(super) fn format_of(
    operation: Operation,
    upstream: &'static str,
    framing: Framing,
) -> ResponseFormat<'static> {
    ResponseFormat {
        operation,
        upstream,
        model: None,
        framing,
        usage: true,
        base64: false,
        vectors: VectorTypes::Unspecified,
        inputs: None,
        choices: 1,
        transcript: TranscriptFormat::Json,
        target: None,
    }
}

/// The events of a stream that carry these values, one per chunk.
pub(super) fn chunks(framing: Framing, data: &[Value]) -> Vec<Bytes> {
    let frame = |data: &Value| EventFrame {
        name: Some("chunk"),
        data: Some(data.clone()),
        exception: false,
    };
    let frames: Vec<EventFrame> = data.iter().map(frame).collect();
    framing.write_events(&frames).into_iter().map(Bytes::from).collect()
}

/// The same stream in one piece.
pub(super) fn stream(framing: Framing, data: &[Value]) -> Vec<u8> {
    chunks(framing, data).concat()
}

/// The bytes, split at these places.
pub(super) fn split<'a>(bytes: &'a [u8], cuts: &[proptest::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}
