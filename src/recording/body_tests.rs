use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::entry_field::entry_fields;
use super::{Chunk, ChunkLayout, ResponsePayload};

fn encoded(payload: &ResponsePayload) -> Value {
    let mut map = Map::new();
    payload.write_fields(&mut map);
    Value::Object(map)
}

fn decoded(value: &Value) -> Result<ResponsePayload, String> {
    ResponsePayload::from_fields(entry_fields(value, "/response").unwrap(), 7.0)
        .map_err(|e| e.to_string())
}

fn payload(layout: ChunkLayout, chunks: &[(f64, &[u8])]) -> ResponsePayload {
    let chunk =
        |(at_ms, data): &(f64, &[u8])| Chunk { at_ms: *at_ms, data: Bytes::copy_from_slice(data) };
    ResponsePayload::new(layout, chunks.iter().map(chunk).collect())
}

#[test]
fn layout_is_chunks_for_event_streams_and_frames_only_without_a_length() {
    let choose = ChunkLayout::for_response;
    assert_eq!(choose("Text/Event-Stream; charset=utf-8", true, 1), ChunkLayout::Chunks);
    assert_eq!(choose("application/x-ndjson", false, 3), ChunkLayout::Chunks);
    assert_eq!(choose("application/ndjson; charset=utf-8", true, 1), ChunkLayout::Chunks);
    assert_eq!(choose("application/vnd.amazon.eventstream", false, 3), ChunkLayout::Chunks);
    assert_eq!(choose("application/json", true, 9), ChunkLayout::Whole);
    assert_eq!(choose("", false, 1), ChunkLayout::Whole);
    assert_eq!(choose("audio/mpeg", false, 2), ChunkLayout::Frames);
}

#[test]
fn each_layout_is_written_as_its_own_field() {
    let whole = payload(ChunkLayout::Whole, &[(7.0, b"{\"a\": 1}\n")]);
    assert_eq!(encoded(&whole), json!({"body": {"a": 1}, "style": "spaced newline"}));
    assert_eq!(decoded(&encoded(&whole)), Ok(whole));

    let frames = payload(ChunkLayout::Frames, &[(0.1, b"\xff\x00"), (2.0, b""), (3.5, b"x")]);
    assert_eq!(
        encoded(&frames),
        json!({"base64": "/wB4", "frames": [[0.1, 2], [2.0, 0], [3.5, 1]]})
    );
    assert_eq!(decoded(&encoded(&frames)), Ok(frames));

    let chunks = payload(ChunkLayout::Chunks, &[(0.04, b"data: 1\r\n"), (1.26, b"\xf0\x9f")]);
    assert_eq!(
        encoded(&chunks),
        json!({"chunks": [[0.0, "data: 1\r\n"], [1.3, {"base64": "8J8="}]]})
    );
    assert_eq!(decoded(&encoded(&chunks)).unwrap().joined_bytes(), chunks.joined_bytes());
}

#[test]
fn nothing_is_written_when_the_body_is_empty() {
    for layout in [ChunkLayout::Whole, ChunkLayout::Frames, ChunkLayout::Chunks] {
        assert_eq!(encoded(&payload(layout, &[])), json!({}));
    }
    assert_eq!(decoded(&json!({})), Ok(ResponsePayload::empty()));
    assert_eq!(decoded(&json!({"chunks": []})), Ok(ResponsePayload::empty()));
}

#[test]
fn a_wrong_payload_is_refused_with_its_place() {
    for (value, place) in [
        (json!({"text": 1}), "/response/text"),
        (json!({"base64": "?"}), "/response/base64"),
        (json!({"text": "a", "base64": "AA=="}), "/response/base64"),
        (json!({"body": {}, "chunks": []}), "/response/chunks"),
        (json!({"body": {}, "style": "tabs"}), "/response/style"),
        (json!({"chunks": [[1, "a"], ["x", "a"]]}), "/response/chunks/1"),
        (json!({"chunks": [[1, {"base64": 3}]]}), "/response/chunks/0"),
        (json!({"chunks": {}}), "/response/chunks"),
        (json!({"text": "abc", "frames": [[1, 2]]}), "/response/frames"),
        (json!({"text": "abc", "frames": [[1, 9]]}), "/response/frames"),
        (json!({"frames": [[1, -2]]}), "/response/frames"),
    ] {
        let error = decoded(&value).unwrap_err();
        assert!(error.starts_with(place), "{value}: {error}");
    }
}

pub(crate) fn any_piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        super::super::json_style::tests::any_json()
            .prop_map(|value| value.to_string().into_bytes()),
    ]
}

proptest! {
    #[test]
    fn bytes_survive_every_layout(pieces in prop::collection::vec((0_u32..1_000_000, any_piece()), 0..6), layout in 0..3) {
        let layout = [ChunkLayout::Whole, ChunkLayout::Frames, ChunkLayout::Chunks][layout as usize];
        let chunks = pieces.into_iter().map(|(ms, data)| Chunk { at_ms: f64::from(ms) / 10.0, data: data.into() }).collect();
        let before = ResponsePayload::new(layout, chunks);
        let after = decoded(&encoded(&before)).unwrap();
        prop_assert_eq!(after.joined_bytes(), before.joined_bytes());
        prop_assert_eq!(after.len(), before.len());
        if layout != ChunkLayout::Whole && !before.is_empty() {
            prop_assert_eq!(after, before);
        }
    }
}
