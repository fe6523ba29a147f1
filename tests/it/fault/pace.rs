//! Tests of answers that come late, slowly, or in pieces, with all bytes intact.

use std::time::{Duration, Instant};

use super::stage::{Stage, sample, samples, streams};
use crate::support::{End, Response};

/// Far longer than any wait in a test.
const LONG: Duration = Duration::from_secs(10);

/// An answer, and the time from the call to its end.
fn timed(stage: &Stage, call: &crate::support::Call) -> (Response, Duration) {
    let began = Instant::now();
    let answer = stage.call(call).expect(200);
    (answer, began.elapsed())
}

#[test]
fn a_slow_answer_is_the_true_one_and_late() {
    let stage = Stage::replay(&[]);
    std::thread::scope(|scope| {
        for sample in samples() {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.server.connect();
                client.send(&sample.with("slow:60"));
                // Not even the head comes earlier.
                assert!(client.is_quiet_for(Duration::from_millis(30)), "{}", sample.name);
                let head = client.head();
                assert_eq!(head.header("x-loomrec-fault"), Some("slow"));
                let answer = client.collect(head).expect(200);
                assert_eq!(answer.body(), sample.body(), "{}", sample.name);
                if sample.framing.is_some() {
                    assert_eq!(answer.chunks, sample.chunks, "{}", sample.name);
                }
            });
        }
    });
    // Each was answered, and so is used up.
    for sample in samples() {
        stage.call(&sample.call).expect(422);
    }
    stage.end(1);
}

#[test]
fn a_throttled_answer_keeps_to_its_rate() {
    let stage = Stage::replay(&[]);
    std::thread::scope(|scope| {
        for sample in samples() {
            let stage = &stage;
            scope.spawn(move || {
                let length = sample.body().len() as u64;
                // A twelfth of a second for each answer.
                let rate = length * 12;
                let (answer, after) = timed(stage, &sample.with(&format!("throttle:{rate}")));
                assert_eq!(answer.body(), sample.body(), "{}", sample.name);
                assert!(after >= Duration::from_millis(75) && after < LONG, "{after:?}");
                if sample.framing.is_some() {
                    let largest = answer.chunks.iter().map(Vec::len).max().unwrap() as u64;
                    assert!(largest <= rate / 20, "{largest} at {rate} a second");
                } else {
                    assert_eq!(answer.head.length(), Some(sample.body().len()));
                }
            });
        }
    });
    stage.end(0);
}

#[test]
fn slices_heed_neither_characters_nor_events() {
    let stage = Stage::replay(&["--repeat", "last"]);
    for sample in samples() {
        let answer = stage.call(&sample.with("slice:7")).expect(200);
        assert_eq!(answer.body(), sample.body(), "{}", sample.name);
        if sample.framing.is_none() {
            continue;
        }
        let expected: Vec<Vec<u8>> =
            sample.chunks.iter().flat_map(|chunk| chunk.chunks(7)).map(<[u8]>::to_vec).collect();
        assert_eq!(answer.chunks, expected, "{}", sample.name);
    }
    let answer = stage.call(&sample("chat stream").with("slice:1")).expect(200);
    let cut = answer.chunks.iter().filter(|chunk| std::str::from_utf8(chunk).is_err()).count();
    assert!(cut >= 2 + 3, "no character was cut");
    let half = sample("message").body().len().div_ceil(2);
    let (answer, after) =
        timed(&stage, &sample("message").with(&format!("slice:{half};delay_ms=60")));
    assert_eq!(answer.body(), sample("message").body());
    assert!(after >= Duration::from_millis(60) && after < LONG, "{after:?}");
    stage.end(0);
}

#[test]
fn a_pause_stands_where_it_should_and_the_rest_follows() {
    let stage = Stage::replay(&[]);
    std::thread::scope(|scope| {
        for sample in streams() {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.server.connect();
                client.send(&sample.with("stream_stall:2;for_ms=60"));
                let head = client.head();
                let first: Vec<_> = (0..2).filter_map(|_| client.chunk()).collect();
                assert_eq!(first, sample.chunks[..2], "{}", sample.name);
                let paused = Instant::now();
                let rest = client.collect(head).expect(200);
                let after = paused.elapsed();
                assert!(after >= Duration::from_millis(40) && after < LONG, "{after:?}");
                assert_eq!(rest.chunks, sample.chunks[2..], "{}", sample.name);
            });
        }
    });
    let sample = sample("gemini");
    let mut client = stage.server.connect();
    client.send(&sample.with("stream_stall;after_bytes=11;for_ms=60"));
    let head = client.head();
    assert_eq!(client.chunk().unwrap(), sample.body()[..11]);
    assert!(client.is_quiet_for(Duration::from_millis(20)));
    assert_eq!(client.collect(head).expect(200).body(), sample.body()[11..]);
    stage.end(0);
}

#[test]
fn a_pause_without_an_end_lasts_until_the_client_leaves() {
    let stage = Stage::replay(&["--fail-unused"]);
    let sample = sample("message stream");
    let mut client = stage.server.connect();
    client.send(&sample.with("stream_stall;after_events=3"));
    client.head();
    let seen: Vec<u8> = (0..3).filter_map(|_| client.chunk()).flatten().collect();
    assert_eq!(seen, sample.chunks[..3].concat());
    assert!(client.is_quiet_for(Duration::from_millis(50)));
    drop(client);
    stage.journal_with(|line| line["outcome"] == "noticed" && line["by"] == "left");
    for sample in samples() {
        let answer = stage.call(&sample.call);
        assert_eq!((answer.end, answer.body()), (End::Complete, sample.body()));
    }
    stage.end(0);
}
