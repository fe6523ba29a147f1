use proptest::prelude::*;

use super::*;
use crate::framing::{Framing, events as framed};

fn events(bytes: &[u8]) -> impl Iterator<Item = StreamEvent<'_>> {
    framed(Framing::Sse, bytes)
}

/// The name and data of each event, and whether it was finished.
fn seen(bytes: &[u8]) -> Vec<(Option<String>, Option<String>, bool)> {
    let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
    events(bytes)
        .map(|event| {
            let name = event.name.map(str::to_owned);
            (name, event.data.as_deref().map(text), event.finished)
        })
        .collect()
}

fn event(name: Option<&str>, data: &str) -> (Option<String>, Option<String>, bool) {
    (name.map(str::to_owned), Some(data.to_owned()), true)
}

#[test]
fn fields_are_read_when_lines_end_in_any_way() {
    for end in ["\n", "\r\n", "\r"] {
        let text = "event: ping|data: {\"a\":1}|id: 7|retry: 10||data:x||".replace('|', end);
        assert_eq!(
            seen(text.as_bytes()),
            [event(Some("ping"), "{\"a\":1}"), event(None, "x")],
            "{end:?}"
        );
    }
}

#[test]
fn data_lines_are_joined_when_there_are_several() {
    assert_eq!(seen(b"data: a\ndata\ndata:  b\n\n"), [event(None, "a\n\n b")]);
}

#[test]
fn comments_are_kept_in_the_ranges_when_they_carry_no_data() {
    let bytes = b": OPENROUTER PROCESSING\n\n: again\ndata: 1\n\n\n";
    let ranges: Vec<_> = events(bytes).map(|event| event.range).collect();
    assert_eq!(ranges, [0..25, 25..42, 42..43]);
    let data: Vec<_> = events(bytes).map(|event| event.data.is_some()).collect();
    assert_eq!(data, [false, true, false]);
}

#[test]
fn a_byte_order_mark_is_skipped_when_it_leads() {
    assert_eq!(seen(b"\xef\xbb\xbfdata: 1\n\n"), [event(None, "1")]);
    assert_eq!(seen(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n")[1].1, None);
}

#[test]
fn the_last_event_is_unfinished_when_its_blank_line_is_missing() {
    for tail in ["data: [DO", "data: [DONE]", "data: [DONE]\n", "data: x\r\n"] {
        let bytes = format!("data: 1\n\n{tail}");
        let finished: Vec<_> = events(bytes.as_bytes()).map(|e| e.finished).collect();
        assert_eq!(finished, [true, false], "{tail:?}");
    }
}

#[test]
fn the_end_marker_is_known_when_blanks_surround_it() {
    let done = |bytes: &[u8]| events(bytes).any(|event| event.is_done());
    assert!(done(b"data: [DONE]\n\n"));
    assert!(done(b"data:[DONE] \r\n\r\n"));
    assert!(!done(b": [DONE]\n\ndata: \"[DONE]\"\n\n"));
}

proptest! {
    #[test]
    fn ranges_cover_every_byte_when_bytes_are_anything(
        bytes in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), any::<u8>()], 0..200)
    ) {
        let mut at = 0;
        let mut open = false;
        for event in events(&bytes) {
            prop_assert!(!open, "only the last event may be unfinished");
            prop_assert_eq!(event.range.start, at);
            prop_assert!(event.range.end > at);
            at = event.range.end;
            open = !event.finished;
        }
        prop_assert_eq!(at, bytes.len());
    }
}
