use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::framing::{Framing, events as framed};

fn events(bytes: &[u8]) -> impl Iterator<Item = StreamEvent<'_>> {
    framed(Framing::EventStream, bytes)
}

/// A message as botocore's own parser accepts it.
const REAL: &str = "AAAAnwAAAFfDe6v/CzpldmVudC10eXBlBwARY29udGVudEJsb2NrRGVsdGENOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcABWV2ZW50eyJjb250ZW50QmxvY2tJbmRleCI6MCwiZGVsdGEiOnsidGV4dCI6IkhpIn0sInAiOiJhYmNkIn3yrOX/";

/// botocore's test vectors: an empty message, and one with a number as a header.
const EMPTY: &[u8] = b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb}\x98\xc8\xff";
const NUMBER: &[u8] = b"\x00\x00\x00+\x00\x00\x00\x0e4\x8b\xec{\x08event-id\x04\x00\x00\xa0\x0c{'foo':'bar'}\xd3\x89\x02\x85";

fn real() -> Vec<u8> {
    STANDARD.decode(REAL).unwrap()
}

fn only(bytes: &[u8]) -> StreamEvent<'_> {
    let mut all = events(bytes);
    let first = all.next().unwrap();
    assert_eq!(all.next(), None);
    first
}

/// A message with a header before the usual ones.
fn with_header(header: &[u8]) -> Vec<u8> {
    let mut headers = header.to_vec();
    text_header(&mut headers, ":event-type", "chunk");
    build_message(&headers, b"{}")
}

#[test]
fn a_real_message_is_read_and_written_byte_for_byte() {
    let bytes = real();
    let event = only(&bytes);
    assert_eq!(
        (event.name, event.finished, event.failed),
        (Some("contentBlockDelta"), true, false)
    );
    assert_eq!(event.range, 0..bytes.len());
    let data = event.json_data().unwrap();
    assert_eq!(data["delta"]["text"], "Hi");
    assert_eq!(write_event(&EventFrame::named("contentBlockDelta", data)), bytes);
}

#[test]
fn messages_of_other_makers_are_read() {
    let event = only(EMPTY);
    assert_eq!((event.data, event.finished, event.failed), (None, true, false));
    assert_eq!(only(NUMBER).data.as_deref(), Some(&b"{'foo':'bar'}"[..]));
}

#[test]
fn an_exception_is_a_failed_event_with_its_kind() {
    let frame = EventFrame::exception("throttlingException", json!({"message": "slow down"}));
    let bytes = write_event(&frame);
    let event = only(&bytes);
    assert_eq!(
        (event.name, event.finished, event.failed),
        (Some("throttlingException"), true, true)
    );
    assert_eq!(event.json_data(), frame.data);
    let mut headers = vec![];
    for (name, value) in [(":message-type", "error"), (":error-code", "InternalFailure")] {
        text_header(&mut headers, name, value);
    }
    let bytes = build_message(&headers, b"");
    assert_eq!((only(&bytes).name, only(&bytes).failed), (Some("InternalFailure"), true));
}

#[test]
fn headers_of_every_type_are_passed_over() {
    for (kind, value) in [
        (0u8, &b""[..]),
        (1, b""),
        (2, b"\x01"),
        (3, b"\x01\x02"),
        (4, b"\x01\x02\x03\x04"),
        (5, b"12345678"),
        (6, b"\x00\x03abc"),
        (7, b"\x00\x03abc"),
        (8, b"12345678"),
        (9, b"0123456789abcdef"),
    ] {
        let bytes = with_header(&[&[1, b'x', kind], value].concat());
        assert_eq!((only(&bytes).name, only(&bytes).failed), (Some("chunk"), false), "{kind}");
    }
    for header in [&b"\x01x\x0a"[..], b"\x01x", b"\xffx", b"\x01x\x07\xff\xff", b"\x01\xff\x00"] {
        let bytes = with_header(header);
        let event = only(&bytes);
        assert!(event.failed && event.data.is_none() && event.finished, "{header:?}");
    }
}

#[test]
fn a_changed_payload_fails_its_message_alone() {
    let mut bytes = [real(), real()].concat();
    let at = real().len() - 8;
    bytes[at] ^= 1;
    let found: Vec<_> = events(&bytes).collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].failed && found[0].finished && found[0].data.is_none());
    assert!(!found[1].failed && found[1].data.is_some());
}

#[test]
fn nothing_is_told_apart_behind_a_changed_length() {
    for at in 0..PRELUDE {
        let mut bytes = [real(), real()].concat();
        bytes[at] ^= 0x10;
        let event = only(&bytes);
        assert!(event.failed && !event.finished && event.data.is_none());
        assert_eq!(event.range, 0..bytes.len());
    }
    // Right checksums do not make wrong lengths right.
    for lengths in [[0u32, 0], [15, 0], [20, 5], [16, u32::MAX]] {
        let mut bytes: Vec<u8> = lengths.iter().flat_map(|number| number.to_be_bytes()).collect();
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes.extend([0; 40]);
        assert!(only(&bytes).failed, "{lengths:?}");
    }
}

fn frame() -> impl Strategy<Value = EventFrame> {
    let names = vec!["chunk", "messageStart", "metadata", "throttlingException", "é"];
    let data = prop::collection::vec(("\\PC{0,8}", "\\PC{0,40}"), 0..4);
    (prop::sample::select(names), data, any::<bool>()).prop_map(|(name, data, exception)| {
        let data: serde_json::Map<_, _> =
            data.into_iter().map(|(name, text)| (name, Value::from(text))).collect();
        EventFrame { exception, ..EventFrame::named(name, Value::Object(data)) }
    })
}

proptest! {
    #[test]
    fn any_frames_come_back_when_they_are_written(frames in prop::collection::vec(frame(), 0..6)) {
        let bytes: Vec<u8> = frames.iter().flat_map(write_event).collect();
        let mut end = 0;
        let mut found = vec![];
        for event in events(&bytes) {
            prop_assert_eq!(event.range.start, end);
            end = event.range.end;
            prop_assert!(event.finished);
            found.push((event.name.map(str::to_owned), event.json_data(), event.failed));
        }
        prop_assert_eq!(end, bytes.len());
        let expected: Vec<_> = frames
            .into_iter()
            .map(|frame| (frame.name.map(str::to_owned), frame.data, frame.exception))
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_cut_stream_gives_its_whole_messages_and_an_unfinished_one(
        frames in prop::collection::vec(frame(), 1..5), cut in any::<prop::sample::Index>(),
    ) {
        let parts: Vec<Vec<u8>> = frames.iter().map(write_event).collect();
        let bytes = parts.concat();
        let cut = cut.index(bytes.len());
        let mut ends = parts.iter().scan(0, |end, part| { *end += part.len(); Some(*end) });
        let whole = ends.clone().filter(|end| *end <= cut).count();
        let on_boundary = cut == 0 || ends.any(|end| end == cut);
        let found: Vec<_> = events(&bytes[..cut]).collect();
        prop_assert_eq!(found.iter().filter(|event| event.finished).count(), whole);
        prop_assert_eq!(found.len(), whole + usize::from(!on_boundary));
        if !on_boundary {
            let last = found.last().unwrap();
            prop_assert!(!last.finished && last.data.is_none() && !last.failed);
        }
    }

    #[test]
    fn a_changed_byte_never_goes_unseen(
        frames in prop::collection::vec(frame(), 1..4),
        at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let mut bytes: Vec<u8> = frames.iter().flat_map(write_event).collect();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let broken = |event: &StreamEvent<'_>| event.data.is_none() && event.failed;
        prop_assert!(events(&bytes).any(|event| broken(&event)));
    }

    #[test]
    fn any_bytes_are_covered_without_a_gap(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut end = 0;
        for event in events(&bytes) {
            prop_assert_eq!(event.range.start, end);
            prop_assert!(event.range.end > end);
            end = event.range.end;
        }
        prop_assert_eq!(end, bytes.len());
    }
}
