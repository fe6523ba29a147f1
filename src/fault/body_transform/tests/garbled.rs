use super::*;

fn garble(chunk: usize, how: GarbleKind) -> Fault {
    Fault::StreamGarble { chunk, how }
}

fn data() -> Vec<Value> {
    (0..4).map(|at| json!({"n": at})).collect()
}

/// The bytes sent for a stream of four events, and whether the fault struck.
fn bytes(fault: &Fault, framing: Framing) -> (Vec<u8>, bool) {
    let (steps, struck) = steps(fault, Some(framing), &chunks(framing, &data()));
    let (bytes, last) = told(&steps);
    assert_eq!(last, &BodyStep::End);
    (bytes, struck)
}

/// The data of the events; `null` for data that does not parse.
fn carried(framing: Framing, bytes: &[u8]) -> Vec<Value> {
    let with_data = events(framing, bytes).filter(|event| event.data.is_some());
    with_data.map(|event| event.json_data().unwrap_or_default()["n"].clone()).collect()
}

#[test]
fn events_are_there_twice_or_elsewhere_or_not_at_all() {
    for framing in FRAMINGS {
        for (fault, expected) in [
            (garble(1, GarbleKind::Duplicated), vec![0, 1, 1, 2, 3]),
            (garble(0, GarbleKind::Duplicated), vec![0, 0, 1, 2, 3]),
            (garble(3, GarbleKind::Duplicated), vec![0, 1, 2, 3, 3]),
            (garble(1, GarbleKind::Reordered), vec![0, 2, 1, 3]),
            (garble(0, GarbleKind::Reordered), vec![1, 0, 2, 3]),
            (garble(2, GarbleKind::Reordered), vec![0, 1, 3, 2]),
            (garble(1, GarbleKind::Dropped), vec![0, 2, 3]),
            (garble(0, GarbleKind::Dropped), vec![1, 2, 3]),
            (garble(3, GarbleKind::Dropped), vec![0, 1, 2]),
        ] {
            let (bytes, struck) = bytes(&fault, framing);
            assert!(struck);
            assert_eq!(carried(framing, &bytes), expected, "{framing:?} {fault:?}");
            assert!(events(framing, &bytes).all(|event| event.finished && !event.failed));
            if framing == Framing::Array {
                let array: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(array.len(), expected.len());
            }
        }
    }
}

#[test]
fn an_event_that_is_not_there_is_not_garbled() {
    let whole = data();
    for framing in FRAMINGS {
        for fault in [
            garble(4, GarbleKind::BrokenData),
            garble(4, GarbleKind::Dropped),
            garble(3, GarbleKind::Reordered),
            garble(usize::MAX, GarbleKind::Reordered),
        ] {
            assert_eq!(bytes(&fault, framing), (stream(framing, &whole), false));
        }
    }
}

#[test]
fn what_an_event_carries_is_broken_and_nothing_else() {
    for framing in FRAMINGS {
        let body = chunks(framing, &data());
        let (broken, struck) = bytes(&garble(1, GarbleKind::BrokenData), framing);
        assert!(struck && broken.starts_with(&body[0]));
        let seen: Vec<_> = events(framing, &broken).filter(|it| it.data.is_some()).collect();
        assert!(seen[1].json_data().is_none() && !seen[1].failed, "{framing:?}");
        if framing != Framing::Array {
            assert_eq!(carried(framing, &broken), [json!(0), Value::Null, json!(2), json!(3)]);
            assert!(broken.ends_with(&body[2..].concat()));
        }
    }
    let body = pieces(&["id: 7\r\nevent: x\r\ndata: [DONE]\r\ndata: \"\r\nretry: 1\r\n\r\n"]);
    let (steps, _) = steps(&garble(0, GarbleKind::BrokenData), Some(Framing::Sse), &body);
    assert_eq!(steps[0], sent("id: 7\r\nevent: x\r\ndata: [DON\r\nretry: 1\r\n\r\n"));
    for text in ["data: 12\n\n", "data: \n\n", "data: \u{2603}\n\n"] {
        let (steps, _) =
            super::steps(&garble(0, GarbleKind::BrokenData), Some(Framing::Sse), &[text.into()]);
        let (bytes, _) = told(&steps);
        assert!(
            events(Framing::Sse, &bytes).all(|it| it.data.is_some() && it.json_data().is_none())
        );
        assert!(std::str::from_utf8(&bytes).is_ok());
    }
}

#[test]
fn an_event_without_its_end_runs_into_the_next() {
    let seen = |framing| {
        let (bytes, struck) = bytes(&garble(1, GarbleKind::MissingTerminator), framing);
        assert!(struck);
        bytes
    };
    let sse = seen(Framing::Sse);
    assert_eq!(carried(Framing::Sse, &sse), [json!(0), Value::Null, json!(3)]);
    let lines = seen(Framing::Lines);
    assert_eq!(carried(Framing::Lines, &lines), [json!(0), Value::Null, json!(3)]);
    let array = seen(Framing::Array);
    assert!(serde_json::from_slice::<Value>(&array).is_err());
    assert!(array.ends_with(b"{\"n\":1}\r\n{\"n\":2},\r\n{\"n\":3}]"));
    let messages = seen(Framing::EventStream);
    assert!(events(Framing::EventStream, &messages).nth(1).unwrap().failed);
    let (last, struck) = bytes(&garble(3, GarbleKind::MissingTerminator), Framing::Array);
    assert!(struck && last.ends_with(b"{\"n\":3}"));
}

#[test]
fn a_checksum_is_wrong_and_the_messages_around_it_are_right() {
    let (bytes, struck) = bytes(&garble(1, GarbleKind::Checksum), Framing::EventStream);
    assert!(struck);
    let failed: Vec<bool> = events(Framing::EventStream, &bytes).map(|it| it.failed).collect();
    assert_eq!(failed, [false, true, false, false]);
}

#[test]
fn comments_keep_their_places() {
    let body = pieces(&[": a\n\ndata: 1\n\n: b\n\ndata: 2\n\n: c\n\n"]);
    let of = |how| match &steps(&garble(0, how), Some(Framing::Sse), &body).0[0] {
        BodyStep::Send(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(GarbleKind::Reordered), ": a\n\ndata: 2\n\n: b\n\ndata: 1\n\n: c\n\n");
    assert_eq!(of(GarbleKind::Dropped), ": a\n\n: b\n\ndata: 2\n\n: c\n\n");
}

#[test]
fn chunks_that_are_not_touched_stay_as_they_were() {
    let body = pieces(&["data: 1\n\nda", "ta: 2\n\n", "data: 3", "\n\ndata: 4\n\n"]);
    let (duplicated, _) = steps(&garble(1, GarbleKind::Duplicated), Some(Framing::Sse), &body);
    let expected = [
        sent("data: 1\n\n"),
        sent("data: 2\n\ndata: 2\n\n"),
        sent("data: 3"),
        sent("\n\ndata: 4\n\n"),
        BodyStep::End,
    ];
    assert_eq!(duplicated, expected);
}

#[test]
fn an_event_that_lacks_its_end_is_garbled_all_the_same() {
    let of = |how, framing, body: &'static str| {
        told(&steps(&garble(0, how), Some(framing), &pieces(&[body])).0).0
    };
    assert_eq!(of(GarbleKind::Duplicated, Framing::Sse, "data: 1"), b"data: 1\n\ndata: 1");
    assert_eq!(of(GarbleKind::Duplicated, Framing::Lines, "{}"), b"{}\n{}");
    assert_eq!(of(GarbleKind::Reordered, Framing::Lines, "1\n2"), b"2\n1");
    assert_eq!(of(GarbleKind::BrokenData, Framing::Lines, "{\"a\":1}"), b"{\"a");
}

#[test]
fn what_is_held_goes_out_where_the_true_body_was_cut() {
    let mut distort = distort(&garble(0, GarbleKind::Dropped), Some(Framing::Sse), None).unwrap();
    distort.feed(Bytes::from_static(b"data: 1"));
    assert_eq!(distort.next_step(), None);
    distort.send_held_bytes();
    assert_eq!(distort.next_step(), Some(sent("data: 1")));
    assert!(!distort.has_struck() && !distort.is_over());
}

#[test]
fn an_event_that_is_too_long_passes() {
    let mut distort = distort(&garble(0, GarbleKind::Dropped), Some(Framing::Sse), None).unwrap();
    let mut bytes = 0;
    for _ in 0..40 {
        distort.feed(Bytes::from(vec![b'x'; 1 << 20]));
        while let Some(BodyStep::Send(sent)) = distort.next_step() {
            bytes += sent.len();
        }
    }
    assert_eq!((bytes, distort.has_struck()), (40 << 20, false));
}

#[test]
fn a_malformed_stream_breaks_at_an_event_that_the_roll_says() {
    let text = malformed::MALFORMED;
    for framing in FRAMINGS {
        for (roll, whole) in [(0.0, 0), (0.3, 1), (0.99, 3)] {
            let call = format_of(operation(framing), "", framing);
            let made = BodyTransform::new(
                &Fault::Malformed { whole: false },
                &call,
                Some(framing),
                None,
                roll,
            )
            .unwrap();
            let (steps, struck) = run(made, &chunks(framing, &data()));
            let (bytes, _) = told(&steps);
            assert!(struck);
            assert!(bytes.starts_with(&chunks(framing, &data())[..whole].concat()));
            if framing != Framing::Array {
                let told: Vec<_> = events(framing, &bytes).collect();
                assert_eq!(told.len(), 4);
                let is_text = |it: &&_| matches!(it, loomrec_provider::framing::StreamEvent { data: Some(data), failed: false, .. } if data.as_ref() == text.as_bytes());
                assert_eq!(told.iter().filter(is_text).count(), 4 - whole);
            }
            assert_eq!(String::from_utf8_lossy(&bytes).matches(text).count(), 4 - whole);
        }
    }
}

#[test]
fn a_stream_too_short_for_the_roll_ends_with_an_event_that_does_not_parse() {
    for framing in FRAMINGS {
        let body = chunks(framing, &[json!({"n": 0})]);
        let (steps, struck) = steps(&Fault::Malformed { whole: false }, Some(framing), &body);
        let (bytes, _) = told(&steps);
        assert!(struck && bytes.starts_with(&body[0]));
        let last = events(framing, &bytes).filter(|event| event.data.is_some()).last().unwrap();
        assert!(last.json_data().is_none(), "{framing:?}");
    }
    let empty = steps(&Fault::Malformed { whole: false }, Some(Framing::Sse), &[]);
    assert_eq!(empty.0[0], sent("data: {malformed json: <<<chaos>>>\n\n"));
}

#[test]
fn a_stream_that_is_on_its_way_passes_under_aimocks_malformed() {
    let whole = Fault::Malformed { whole: true };
    for framing in FRAMINGS {
        assert!(distort(&whole, Some(framing), None).is_none(), "{framing:?}");
    }
    assert!(distort(&whole, None, None).is_some());
}
