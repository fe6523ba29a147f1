use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::framing::{EventFrame, events};

const FRAMINGS: [Framing; 4] = [Framing::Sse, Framing::Lines, Framing::Array, Framing::EventStream];

/// A stream of these values.
fn stream(framing: Framing, data: &[serde_json::Value]) -> Vec<u8> {
    let frames: Vec<_> = data.iter().cloned().map(EventFrame::unnamed).collect();
    framing.write_events(&frames).concat()
}

/// The bytes, split at these places.
fn split<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// The ends of the events in a stream that comes in pieces, and what is open at its end.
fn scanned(framing: Framing, pieces: &[&[u8]]) -> (Vec<(usize, bool)>, Option<OpenEvent>) {
    let mut splitter = EventSplitter::new(framing);
    let (mut ends, mut at) = (vec![], 0);
    for piece in pieces {
        splitter.split(piece, |end| ends.push((at + end.at, end.carries)));
        at += piece.len();
    }
    (ends, splitter.open_event())
}

/// The same, as the framing finds them in the whole stream.
fn expected(framing: Framing, bytes: &[u8]) -> Vec<(usize, bool)> {
    let whole = events(framing, bytes).filter(|event| event.finished);
    whole.map(|event| (event.range.end, event.data.is_some())).collect()
}

/// Bytes that resemble a stream.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: {}".to_vec()),
        Just(b"data".to_vec()),
        Just(b"datum: 1".to_vec()),
        Just(b": ping".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b" ".to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

#[test]
fn an_array_ends_with_something_that_carries_nothing() {
    let (ends, open) = scanned(Framing::Array, &[b"[{\"a\":\"]\\\"}\"},", b" [2], \"x\" ,3]\n"]);
    assert_eq!(ends, [(13, true), (18, true), (23, true), (26, true)]);
    assert_eq!(open, Some(OpenEvent { carries: false, finished: true, lost: false }));
}

#[test]
fn a_message_whose_length_is_wrong_never_ends() {
    let mut bytes = stream(Framing::EventStream, &[json!(1), json!(2)]);
    let first = scanned(Framing::EventStream, &[&bytes]).0[0].0;
    bytes[first + 1] ^= 1;
    let (ends, open) = scanned(Framing::EventStream, &[&bytes]);
    assert_eq!((ends, open.map(|open| open.carries)), (vec![(first, true)], Some(false)));
}

proptest! {
    #[test]
    fn events_are_found_wherever_the_chunks_end(
        bytes in text(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        for framing in [Framing::Sse, Framing::Lines] {
            let (mut ends, open) = scanned(framing, &split(&bytes, &cuts));
            if let Some(OpenEvent { carries, finished: true, .. }) = open {
                ends.push((bytes.len(), carries));
            }
            prop_assert_eq!(&ends, &expected(framing, &bytes));
            let last = events(framing, &bytes).last().filter(|event| !event.finished);
            let last = last.map(|event| event.data.is_some());
            let open = open.filter(|open| !open.finished).map(|open| open.carries);
            prop_assert_eq!(open, last);
        }
    }

    #[test]
    fn events_of_each_framing_are_found(
        count in 1_usize..6,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let data: Vec<_> = (0..count).map(|at| json!({"n": at, "t": "]}\"\\"})).collect();
        for framing in FRAMINGS {
            let bytes = stream(framing, &data);
            let carrying: Vec<_> =
                expected(framing, &bytes).into_iter().filter(|(_, carries)| *carries).collect();
            prop_assert_eq!(carrying.len(), count);
            prop_assert_eq!(scanned(framing, &split(&bytes, &cuts)).0, carrying);
        }
    }

    #[test]
    fn any_bytes_are_passed_over(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for framing in FRAMINGS {
            for (end, _) in scanned(framing, &[&bytes]).0 {
                prop_assert!(end <= bytes.len());
            }
        }
    }
}
