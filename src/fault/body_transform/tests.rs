use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::test_calls::{FRAMINGS, chunks, format_of, split, stream};
use crate::{ConnectionCut, FaultPoint, GarbleKind, Truncation, TruncationEnd};
use loomrec_provider::Operation;
use loomrec_provider::framing::events;

mod garbled;
mod paced;

/// An operation whose streams have this framing.
fn operation(framing: Framing) -> Operation {
    match framing {
        Framing::Sse => Operation::RESPONSES,
        Framing::Lines => Operation::OLLAMA_CHAT,
        Framing::Array => Operation::GENERATE_CONTENT,
        Framing::EventStream => Operation::CONVERSE,
    }
}

type Announced = Option<u64>;

fn distort(fault: &Fault, framing: Option<Framing>, length: Announced) -> Option<BodyTransform> {
    let framed = framing.unwrap_or(Framing::Sse);
    BodyTransform::new(fault, &format_of(operation(framed), "", framed), framing, length, 0.6).ok()
}

/// The steps for a body that ends cleanly, and whether the fault struck.
fn run(mut distort: BodyTransform, body: &[Bytes]) -> (Vec<BodyStep>, bool) {
    let mut steps = vec![];
    for chunk in body {
        distort.feed(chunk.clone());
        steps.extend(std::iter::from_fn(|| distort.next_step()));
    }
    distort.finish();
    steps.extend(std::iter::from_fn(|| distort.next_step()));
    assert!(distort.is_over(), "{steps:?}");
    (steps, distort.has_struck())
}

fn steps(fault: &Fault, framing: Option<Framing>, body: &[Bytes]) -> (Vec<BodyStep>, bool) {
    run(distort(fault, framing, None).unwrap(), body)
}

/// The bytes of all steps but the last, and the last step.
fn told(steps: &[BodyStep]) -> (Vec<u8>, &BodyStep) {
    let (last, before) = steps.split_last().unwrap();
    let sent = before.iter().flat_map(|step| match step {
        BodyStep::Send(bytes) => bytes.to_vec(),
        BodyStep::Wait(_) => vec![],
        other => panic!("{other:?} is not the last"),
    });
    (sent.collect(), last)
}

fn truncate(after: FaultPoint, raise: TruncationEnd) -> Fault {
    Fault::StreamTruncate(Truncation { after, raise, ..Truncation::default() })
}

fn pieces(texts: &[&'static str]) -> Vec<Bytes> {
    texts.iter().map(|text| Bytes::from_static(text.as_bytes())).collect()
}

fn sent(text: &'static str) -> BodyStep {
    BodyStep::Send(Bytes::from_static(text.as_bytes()))
}

const ENDS: [TruncationEnd; 5] = [
    TruncationEnd::Reset,
    TruncationEnd::Close,
    TruncationEnd::Stall,
    TruncationEnd::ErrorEvent,
    TruncationEnd::CleanEof,
];

const SSE: [&str; 3] = [": hi\n\ndata: 1\n\n", "data: 2\n\nda", "ta: 3\n\n"];

#[test]
fn a_stream_stops_where_it_is_said_and_as_it_is_said() {
    let body = pieces(&SSE);
    let cut = |after| steps(&truncate(after, TruncationEnd::Reset), Some(Framing::Sse), &body);
    let reset = BodyStep::Cut(ConnectionCut::Reset);
    assert_eq!(cut(FaultPoint::Default), (vec![sent(SSE[0]), reset.clone()], true));
    assert_eq!(cut(FaultPoint::Chunks(2)), (vec![sent(SSE[0]), sent(SSE[1]), reset.clone()], true));
    let second = sent("data: 2\n\n");
    assert_eq!(cut(FaultPoint::Events(2)), (vec![sent(SSE[0]), second, reset.clone()], true));
    assert_eq!(cut(FaultPoint::Bytes(3)), (vec![sent(": h"), reset.clone()], true));
    assert_eq!(cut(FaultPoint::Bytes(0)), (vec![reset], true));
    let one = |raise| {
        steps(&truncate(FaultPoint::Chunks(1), raise), Some(Framing::Sse), &body).0[1].clone()
    };
    assert_eq!(one(TruncationEnd::Close), BodyStep::Cut(ConnectionCut::Close));
    assert_eq!(one(TruncationEnd::CleanEof), BodyStep::End);
    assert_eq!(one(TruncationEnd::Stall), BodyStep::Stall);
}

#[test]
fn a_place_at_the_very_end_counts_only_where_the_client_would_see_it() {
    let body = pieces(&SSE);
    let all: u64 = body.iter().map(|chunk| chunk.len() as u64).sum();
    for after in [FaultPoint::Chunks(3), FaultPoint::Events(3), FaultPoint::Bytes(all)] {
        for raise in ENDS {
            let strikes = raise != TruncationEnd::CleanEof;
            let fault = truncate(after, raise);
            assert_eq!(steps(&fault, Some(Framing::Sse), &body).1, strikes, "{fault:?}");
            if raise != TruncationEnd::ErrorEvent {
                let announced = distort(&fault, Some(Framing::Sse), Some(all)).unwrap();
                let (steps, struck) = run(announced, &body);
                assert_eq!((steps.last(), struck), (Some(&BodyStep::End), false), "{fault:?}");
            }
        }
        let pause = Fault::StreamStall { after, for_ms: Some(7) };
        assert!(steps(&pause, Some(Framing::Sse), &body).0.contains(&BodyStep::Wait(7)));
        let announced = distort(&pause, Some(Framing::Sse), Some(all)).unwrap();
        assert!(!run(announced, &body).1);
    }
}

#[test]
fn a_place_past_the_end_is_never_come_to() {
    let body = pieces(&SSE);
    for raise in ENDS {
        for after in [FaultPoint::Chunks(4), FaultPoint::Events(4), FaultPoint::Bytes(1000)] {
            let (steps, struck) = steps(&truncate(after, raise), Some(Framing::Sse), &body);
            let expected = SSE.map(sent).into_iter().chain([BodyStep::End]);
            assert_eq!((steps, struck), (expected.collect(), false));
        }
    }
}

#[test]
fn a_complete_body_stops_in_its_middle_where_nothing_is_said() {
    let body = pieces(&["{\"a\":", "\"12345\"}"]);
    let close = truncate(FaultPoint::Default, TruncationEnd::Close);
    let announced = distort(&close, None, Some(13)).unwrap();
    let (cut, struck) = run(announced, &body);
    assert_eq!(
        (cut, struck),
        (vec![sent("{\"a\":"), sent("\""), BodyStep::Cut(ConnectionCut::Close)], true)
    );
    let (cut, _) = steps(&close, None, &body);
    assert_eq!(cut, [sent("{\""), BodyStep::Cut(ConnectionCut::Close)]);
    assert!(distort(&truncate(FaultPoint::Events(1), TruncationEnd::Close), None, None).is_none());
    assert!(
        distort(&truncate(FaultPoint::Default, TruncationEnd::ErrorEvent), None, None).is_none()
    );
}

#[test]
fn an_empty_body_can_be_cut_only_at_its_beginning() {
    for after in [FaultPoint::Chunks(0), FaultPoint::Events(0), FaultPoint::Bytes(0)] {
        let cut = steps(&truncate(after, TruncationEnd::Reset), Some(Framing::Sse), &[]);
        assert_eq!(cut, (vec![BodyStep::Cut(ConnectionCut::Reset)], true));
    }
    let reset = truncate(FaultPoint::Default, TruncationEnd::Reset);
    assert!(!steps(&reset, Some(Framing::Sse), &[]).1);
}

#[test]
fn a_stall_that_passes_changes_no_byte() {
    let fault = Fault::StreamStall { after: FaultPoint::Bytes(17), for_ms: Some(50) };
    let (paused, struck) = steps(&fault, Some(Framing::Sse), &pieces(&SSE));
    assert!(struck);
    let expected = [
        sent(SSE[0]),
        sent("da"),
        BodyStep::Wait(50),
        sent("ta: 2\n\nda"),
        sent(SSE[2]),
        BodyStep::End,
    ];
    assert_eq!(paused, expected);
    let forever = Fault::StreamStall { after: FaultPoint::Default, for_ms: None };
    let stalled = steps(&forever, Some(Framing::Sse), &pieces(&SSE));
    assert_eq!(stalled, (vec![sent(SSE[0]), BodyStep::Stall], true));
}

#[test]
fn an_error_within_a_stream_is_the_providers_and_stands_behind_a_whole_event() {
    let data: Vec<Value> = (0..3).map(|at| json!({"n": at})).collect();
    for framing in FRAMINGS {
        let body = chunks(framing, &data);
        let first = body[0].len() as u64;
        for (after, whole) in [
            (FaultPoint::Events(0), 0),
            (FaultPoint::Events(1), 1),
            (FaultPoint::Chunks(1), 1),
            (FaultPoint::Bytes(first), 1),
            (FaultPoint::Bytes(first + 1), 2),
        ] {
            let (steps, struck) =
                steps(&truncate(after, TruncationEnd::ErrorEvent), Some(framing), &body);
            let (bytes, last) = told(&steps);
            assert_eq!((struck, last), (true, &BodyStep::End));
            let seen: Vec<_> = events(framing, &bytes).filter(|it| it.data.is_some()).collect();
            let seen_data: Vec<Value> = seen.iter().map(|it| it.json_data().unwrap()).collect();
            assert_eq!(seen_data[..whole], data[..whole], "{framing:?} {after:?}");
            assert_eq!(seen_data.len(), whole + 1);
            let error = seen_data.last().unwrap().to_string();
            assert!(error.contains("server had an error"), "{error}");
            assert_eq!(seen.last().unwrap().failed, framing == Framing::EventStream);
            match framing {
                Framing::Sse => assert_eq!(seen_data[whole]["sequence_number"], whole),
                Framing::Array => assert!(serde_json::from_slice::<Value>(&bytes).is_ok()),
                _ => {}
            }
        }
    }
}

#[test]
fn an_error_ends_the_event_before_it_where_that_lacks_its_end() {
    let told_of = |framing, body: &'static str| {
        let fault = truncate(FaultPoint::Events(1), TruncationEnd::ErrorEvent);
        let (steps, struck) = steps(&fault, Some(framing), &pieces(&[body]));
        (String::from_utf8(told(&steps).0).unwrap(), struck)
    };
    let (sse, struck) = told_of(Framing::Sse, "data: 1");
    assert!(struck && sse.starts_with("data: 1\n\nevent: error\ndata: {"), "{sse}");
    let (lines, struck) = told_of(Framing::Lines, "{}");
    assert!(struck && lines.starts_with("{}\n{\"error\":"), "{lines}");
    let (array, struck) = told_of(Framing::Array, "[{\"a\":1");
    assert!(!struck && array == "[{\"a\":1");
}

fn head(fault: &Fault, framing: Option<Framing>, announced: Option<u64>) -> (u16, HeaderMap) {
    let mut headers = HeaderMap::new();
    if let Some(length) = announced {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    let mut status = StatusCode::CREATED;
    distort(fault, framing, announced).unwrap().change_head(&mut status, &mut headers, Some(10));
    (status.as_u16(), headers)
}

#[test]
fn a_length_that_will_not_hold_is_not_announced() {
    let garble = Fault::StreamGarble { chunk: 0, how: GarbleKind::Dropped };
    let eof = truncate(FaultPoint::Default, TruncationEnd::CleanEof);
    let error_event = truncate(FaultPoint::Default, TruncationEnd::ErrorEvent);
    for fault in [&garble, &eof, &error_event, &Fault::Malformed { whole: false }] {
        let (status, headers) = head(fault, Some(Framing::Sse), Some(10));
        assert_eq!((status, headers.get(CONTENT_LENGTH)), (201, None), "{fault:?}");
    }
    let slice = Fault::Slice { bytes: 1, delay_ms: 0 };
    for fault in [&slice, &truncate(FaultPoint::Default, TruncationEnd::Reset)] {
        assert_eq!(head(fault, Some(Framing::Sse), Some(10)).1[CONTENT_LENGTH], "10");
    }
}

#[test]
fn a_complete_answer_that_is_malformed_is_aimocks() {
    let (status, headers) = head(&Fault::Malformed { whole: false }, None, Some(3));
    assert_eq!((status, &headers["content-type"]), (200, &"application/json".parse().unwrap()));
    assert_eq!(headers[CONTENT_LENGTH], "28");
    for body in [pieces(&["{\"a\"", ":1}"]), vec![]] {
        let malformed = steps(&Fault::Malformed { whole: false }, None, &body);
        assert_eq!(malformed, (vec![sent("{malformed json: <<<chaos>>>"), BodyStep::End], true));
    }
}

#[test]
fn a_length_lies_by_as_much_as_is_said() {
    let body = pieces(&["abcde", "fghij"]);
    let with = |by, announced| {
        let mut distort = distort(&Fault::WrongLength { by }, None, announced).unwrap();
        let (mut status, mut headers) = (StatusCode::OK, HeaderMap::new());
        headers.insert("transfer-encoding", "chunked".parse().unwrap());
        distort.change_head(&mut status, &mut headers, Some(10));
        assert_eq!(headers.get("transfer-encoding"), None);
        (headers[CONTENT_LENGTH].to_str().unwrap().to_owned(), run(distort, &body))
    };
    let whole = || vec![sent("abcde"), sent("fghij")];
    let behind = |text: &'static str| BodyStep::Behind(Bytes::from_static(text.as_bytes()));
    let longer = [whole(), vec![BodyStep::Cut(ConnectionCut::Close)]].concat();
    assert_eq!(with(5, Some(10)), ("15".to_owned(), (longer, true)));
    let shorter = vec![sent("abcde"), sent("fg"), behind("hij"), BodyStep::End];
    assert_eq!(with(-3, None), ("7".to_owned(), (shorter, true)));
    // A server does not ask for more than the announced length: the rest comes after the end.
    let early = vec![sent("abc"), behind("defghij"), BodyStep::End];
    assert_eq!(with(-7, None), ("3".to_owned(), (early, true)));
    let least = vec![sent("a"), behind("bcdefghij"), BodyStep::End];
    assert_eq!(with(i64::MIN, None), ("1".to_owned(), (least, true)));
    let unknown = steps(&Fault::WrongLength { by: 1 }, None, &body);
    assert_eq!(unknown, ([whole(), vec![BodyStep::End]].concat(), false));
    assert!(distort(&Fault::WrongLength { by: 0 }, None, None).is_none());
}

#[test]
fn a_bad_encoding_looks_like_gzip_and_does_not_inflate() {
    let (_, headers) = head(&Fault::BadEncoding, None, Some(10));
    assert_eq!(
        (&headers["content-encoding"], &headers[CONTENT_LENGTH]),
        (&"gzip".parse().unwrap(), &"21".parse().unwrap())
    );
    for body in [pieces(&["{\"a\"", ":1}"]), vec![]] {
        let (steps, struck) = steps(&Fault::BadEncoding, None, &body);
        let (bytes, last) = told(&steps);
        assert_eq!((struck, last), (true, &BodyStep::End));
        assert!(bytes.starts_with(&[0x1f, 0x8b, 8]) && bytes.ends_with(&body.concat()));
        let mut plain = vec![];
        let mut gzip = flate2::read::GzDecoder::new(&bytes[..]);
        assert!(std::io::Read::read_to_end(&mut gzip, &mut plain).is_err());
        assert!(plain.is_empty());
    }
}

#[test]
fn faults_that_do_nothing_to_a_body_have_no_work() {
    for fault in [
        Fault::Slow { delay_ms: 1 },
        Fault::Timeout { after_ms: 1 },
        Fault::Drop,
        Fault::PartialResponse { content: None },
        Fault::StreamGarble { chunk: 0, how: GarbleKind::Dropped },
    ] {
        assert!(distort(&fault, None, None).is_none(), "{fault:?}");
    }
    let checksum = Fault::StreamGarble { chunk: 0, how: GarbleKind::Checksum };
    assert!(distort(&checksum, Some(Framing::Sse), None).is_none());
}

/// Faults whose places do not depend on chunks.
fn fault() -> impl Strategy<Value = Fault> {
    let after = prop_oneof![
        (0_usize..6).prop_map(FaultPoint::Events),
        (0_u64..200).prop_map(FaultPoint::Bytes),
    ];
    let raise = prop::sample::select(vec![
        TruncationEnd::Reset,
        TruncationEnd::Close,
        TruncationEnd::CleanEof,
        TruncationEnd::ErrorEvent,
        TruncationEnd::Stall,
    ]);
    let how = prop::sample::select(vec![
        GarbleKind::BrokenData,
        GarbleKind::Duplicated,
        GarbleKind::Reordered,
        GarbleKind::Dropped,
        GarbleKind::MissingTerminator,
    ]);
    prop_oneof![
        (after.clone(), raise).prop_map(|(after, raise)| truncate(after, raise)),
        after.prop_map(|after| Fault::StreamStall { after, for_ms: Some(1) }),
        (0_usize..6, how).prop_map(|(chunk, how)| Fault::StreamGarble { chunk, how }),
        (-50_i64..50).prop_map(|by| Fault::WrongLength { by }),
        Just(Fault::Malformed { whole: false }),
        Just(Fault::BadEncoding),
    ]
}

/// The steps with adjacent bytes joined.
fn joined(steps: Vec<BodyStep>) -> Vec<BodyStep> {
    let mut joined: Vec<BodyStep> = vec![];
    for step in steps {
        match (joined.last_mut(), step) {
            (Some(BodyStep::Send(all)), BodyStep::Send(more))
            | (Some(BodyStep::Behind(all)), BodyStep::Behind(more)) => {
                *all = [all.as_ref(), &more].concat().into();
            }
            (_, step) => joined.push(step),
        }
    }
    joined
}

proptest! {
    #[test]
    fn the_same_goes_out_wherever_the_chunks_end(
        fault in fault(),
        count in 0_usize..6,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        noise in prop::collection::vec(any::<u8>(), 0..12),
        at in any::<prop::sample::Index>(),
    ) {
        let data: Vec<_> = (0..count).map(|at| json!({"n": at, "t": "\u{2603}]}\"\\"})).collect();
        for framing in FRAMINGS {
            let mut body = stream(framing, &data);
            let at = at.index(body.len() + 1);
            body.splice(at..at, noise.iter().copied());
            let given = Some(body.len() as u64).filter(|_| matches!(fault, Fault::WrongLength { .. }));
            let Some(whole) = distort(&fault, Some(framing), given) else { continue };
            let in_one: Vec<Bytes> = [body.clone()].map(Bytes::from).into();
            let in_pieces: Vec<Bytes> =
                split(&body, &cuts).into_iter().map(Bytes::copy_from_slice).collect();
            let pieced = distort(&fault, Some(framing), given).unwrap();
            let (one, one_struck) = run(whole, &in_one);
            let (many, many_struck) = run(pieced, &in_pieces);
            prop_assert_eq!(joined(one.clone()), joined(many));
            prop_assert_eq!(one_struck, many_struck);
            if !one_struck {
                let all = [in_one.into_iter().filter(|it| !it.is_empty()).map(BodyStep::Send).collect(), vec![BodyStep::End]];
                prop_assert_eq!(joined(one), all.concat());
            }
        }
    }
}
