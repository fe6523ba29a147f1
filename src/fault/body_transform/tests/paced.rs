use super::*;

fn waited(steps: &[BodyStep]) -> u64 {
    steps.iter().map(|step| if let BodyStep::Wait(ms) = step { *ms } else { 0 }).sum()
}

#[test]
fn a_rate_is_never_passed_and_held_to_the_millisecond() {
    let body = vec![Bytes::from(vec![b'a'; 90]), Bytes::from(vec![b'b'; 33])];
    for (rate, piece) in [(1000, 50), (30, 1), (7, 1), (1, 1), (0, 1), (u64::MAX, 90)] {
        let (steps, struck) = steps(&Fault::Throttle { bytes_per_second: rate }, None, &body);
        assert!(struck);
        let (bytes, last) = told(&steps);
        assert_eq!((bytes, last), (body.concat(), &BodyStep::End));
        let (mut at_ms, mut sent) = (0, 0);
        for step in &steps {
            match step {
                BodyStep::Wait(ms) => at_ms += ms,
                BodyStep::Send(bytes) => {
                    sent += bytes.len() as u64;
                    assert!(bytes.len() <= piece);
                    assert!(sent * 1000 <= at_ms.saturating_mul(rate.max(1)), "{rate} {sent}");
                }
                _ => {}
            }
        }
        assert_eq!(waited(&steps), (123_u128 * 1000).div_ceil(u128::from(rate.max(1))) as u64);
    }
}

#[test]
fn slices_heed_nothing_and_wait_between_each_other() {
    let body = pieces(&["data: \u{2603}\n\n", "ab"]);
    let (slices, struck) =
        steps(&Fault::Slice { bytes: 8, delay_ms: 5 }, Some(Framing::Sse), &body);
    assert!(struck);
    let bytes = |bytes: &'static [u8]| BodyStep::Send(Bytes::from_static(bytes));
    let expected = [
        bytes(b"data: \xe2\x98"),
        BodyStep::Wait(5),
        bytes(b"\x83\n\n"),
        BodyStep::Wait(5),
        sent("ab"),
        BodyStep::End,
    ];
    assert_eq!(slices, expected);
    let untouched = steps(&Fault::Slice { bytes: 80, delay_ms: 0 }, None, &body);
    assert!(!untouched.1 && waited(&untouched.0) == 0);
    assert_eq!(steps(&Fault::Slice { bytes: 0, delay_ms: 0 }, None, &pieces(&["abc"])).0.len(), 4);
}

#[test]
fn pieces_are_cut_only_as_they_are_taken() {
    let mut distort = distort(&Fault::Slice { bytes: 1, delay_ms: 1 }, None, None).unwrap();
    distort.feed(Bytes::from(vec![0; 1 << 20]));
    distort.finish();
    for _ in 0..100 {
        assert!(distort.next_step().is_some());
        assert!(distort.out.steps.len() < 3 && !distort.is_over());
    }
}
