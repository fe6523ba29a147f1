//! Tests of answers with wrong bytes: events, lengths, encodings.

use std::io::Read as _;

use loomrec_provider::Framing;
use loomrec_provider::framing::events;
use serde_json::Value;

use super::stage::{Sample, Stage, complete, sample, samples, streams};
use crate::support::{End, Response};

const MALFORMED: &str = "{malformed json: <<<chaos>>>";

fn garbled(stage: &Stage, sample: &Sample, fault: &str) -> Response {
    let answer = stage.call(&sample.with(fault)).expect(200);
    assert_eq!(answer.header("x-loomrec-fault"), Some("stream_garble"), "{fault}");
    assert_eq!(answer.header("content-type"), Some(sample.media), "{fault}");
    answer
}

/// The data of each event in a stream; an array's as one text.
fn carried(framing: Framing, body: &[u8]) -> Vec<String> {
    let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
    if framing == Framing::Array {
        let Ok(Value::Array(elements)) = serde_json::from_slice(body) else {
            return vec![text(body)];
        };
        return elements.iter().map(Value::to_string).collect();
    }
    events(framing, body).filter_map(|event| event.data.map(|data| text(&data))).collect()
}

/// Runs a test on streams in which each chunk is an event, and an array's end is not one.
fn each(test: impl Fn(&Stage, Framing, &Sample)) {
    let stage = Stage::replay(&["--repeat", "last"]);
    for sample in streams() {
        test(&stage, sample.framing.unwrap(), &sample);
    }
    stage.end(0);
}

#[test]
fn an_event_that_is_broken_does_not_parse_and_the_others_do() {
    each(|stage, framing, sample| {
        let answer = garbled(stage, sample, "stream_garble:1");
        assert_eq!(answer.chunks.len(), sample.chunks.len(), "{}", sample.name);
        assert_eq!(answer.chunks[0], sample.chunks[0]);
        assert_eq!(answer.chunks[2..], sample.chunks[2..], "{}", sample.name);
        let whole = answer.body();
        if framing == Framing::Array {
            assert!(serde_json::from_slice::<Value>(&whole).is_err(), "{}", sample.name);
            return;
        }
        let (before, now) = (carried(framing, &sample.body()), carried(framing, &whole));
        assert_eq!(now.len(), before.len(), "{}", sample.name);
        assert!(serde_json::from_str::<Value>(&now[1]).is_err(), "{}: {}", sample.name, now[1]);
        let failed = events(framing, &whole).filter(|event| event.failed).count();
        assert_eq!(failed, 0, "the frames must be sound: {}", sample.name);
    });
}

#[test]
fn an_event_comes_twice_or_not_at_all_or_in_anothers_place() {
    each(|stage, framing, sample| {
        let of = |fault: &str| carried(framing, &garbled(stage, sample, fault).body());
        let truth = carried(framing, &sample.body());
        for at in [0, 1, 2] {
            let mut twice = truth.clone();
            twice.insert(at, truth[at].clone());
            let about = format!("{} {at}", sample.name);
            assert_eq!(of(&format!("stream_garble:{at};how=duplicated")), twice, "{about}");
            let mut dropped = truth.clone();
            dropped.remove(at);
            assert_eq!(of(&format!("stream_garble:{at};how=dropped")), dropped, "{about}");
            let mut reordered = truth.clone();
            reordered.swap(at, at + 1);
            assert_eq!(of(&format!("stream_garble:{at};how=reordered")), reordered, "{about}");
        }
    });
}

#[test]
fn an_event_without_its_end_runs_into_the_next() {
    each(|stage, framing, sample| {
        if framing == Framing::EventStream {
            // A message states its own length: what is missing is its checksum.
            return;
        }
        let body = garbled(stage, sample, "stream_garble:1;how=missing_terminator").body();
        assert!(body.len() < sample.body().len(), "{}", sample.name);
        let (truth, now) = (carried(framing, &sample.body()), carried(framing, &body));
        if framing == Framing::Array {
            assert_eq!(now.len(), 1, "the array must not parse: {}", now[0]);
            return;
        }
        assert_eq!(now.len(), truth.len() - 1, "{}", sample.name);
        assert!(now[1].starts_with(&truth[1]) && now[1].ends_with(&truth[2]), "{}", now[1]);
    });
}

#[test]
fn a_checksum_is_wrong_where_there_is_one() {
    each(|stage, framing, sample| {
        let fault = "stream_garble:2;how=checksum";
        let answer = stage.call(&sample.with(fault)).expect(200);
        if framing != Framing::EventStream {
            assert_eq!(answer.chunks, sample.chunks, "{}", sample.name);
            return;
        }
        let whole = answer.body();
        let failed: Vec<bool> = events(framing, &whole).map(|event| event.failed).collect();
        let expected: Vec<bool> = (0..sample.chunks.len()).map(|at| at == 2).collect();
        assert_eq!(failed, expected);
        let (now, truth) = (&answer.chunks[2], &sample.chunks[2]);
        assert_eq!(now[..now.len() - 4], truth[..truth.len() - 4]);
    });
}

#[test]
fn a_length_that_is_too_long_leaves_the_client_waiting_for_more() {
    let stage = Stage::replay(&[]);
    for sample in samples() {
        let body = sample.body();
        let mut client = stage.server.connect();
        client.send(&sample.with("wrong_length:5"));
        let head = client.head();
        assert_eq!(head.all("content-length"), [(body.len() + 5).to_string()], "{}", sample.name);
        assert_eq!(head.header("transfer-encoding"), None, "{}", sample.name);
        assert_eq!(client.everything(), (body, End::Closed), "{}", sample.name);
    }
    stage.end(0);
}

#[test]
fn a_length_that_is_too_short_is_followed_by_the_rest() {
    let stage = Stage::replay(&[]);
    for sample in samples() {
        let body = sample.body();
        let mut client = stage.server.connect();
        client.send(&sample.with("wrong_length:-5"));
        let head = client.head();
        assert_eq!(head.all("content-length"), [(body.len() - 5).to_string()], "{}", sample.name);
        assert_eq!(client.everything(), (body, End::Closed), "{}", sample.name);
        // A length below 0 cannot be announced, and with 0 the body would never be read.
        let mut client = stage.server.connect();
        client.send(&sample.with("wrong_length:-99999"));
        assert_eq!(client.head().all("content-length"), ["1"], "{}", sample.name);
        assert_eq!(client.everything(), (sample.body(), End::Closed), "{}", sample.name);
    }
    stage.end(0);
}

#[test]
fn a_bad_encoding_says_gzip_and_does_not_inflate() {
    let stage = Stage::replay(&[]);
    for sample in samples() {
        let answer = stage.call(&sample.with("bad_encoding")).expect(200);
        assert_eq!(answer.header("content-encoding"), Some("gzip"), "{}", sample.name);
        let body = answer.body();
        assert!(body.starts_with(&[0x1f, 0x8b, 8]) && body.ends_with(&sample.body()));
        let mut inflated = Vec::new();
        let read = flate2::read::MultiGzDecoder::new(body.as_slice()).read_to_end(&mut inflated);
        assert!(read.is_err() && inflated.is_empty(), "{}", sample.name);
        if sample.framing.is_some() {
            assert_eq!(answer.chunks.len(), sample.chunks.len(), "{}", sample.name);
        }
    }
    stage.end(0);
}

#[test]
fn aimocks_malformed_is_its_body_and_in_a_stream_what_its_events_carry() {
    let stage = Stage::replay(&[]);
    for sample in complete() {
        let answer = stage.call(&sample.with("malformed")).expect(200);
        assert_eq!(answer.text(), MALFORMED, "{}", sample.name);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{}", sample.name);
        assert_eq!(answer.header("x-loomrec-fault"), Some("malformed"), "{}", sample.name);
    }
    for sample in streams() {
        let framing = sample.framing.unwrap();
        let answer = stage.call(&sample.with("malformed")).expect(200);
        assert_eq!(answer.header("content-type"), Some(sample.media), "{}", sample.name);
        let (body, name) = (answer.body(), sample.name);
        if framing == Framing::Array {
            assert!(serde_json::from_slice::<Value>(&body).is_err(), "{name}");
            assert!(answer.text().contains(MALFORMED), "{name}");
            continue;
        }
        let (truth, now) = (carried(framing, &sample.body()), carried(framing, &body));
        assert_eq!(now.len(), truth.len(), "{name}");
        let from =
            now.iter().position(|data| data == MALFORMED).unwrap_or_else(|| panic!("{name}"));
        assert!(from < 4, "{name}: only the {from}th");
        assert_eq!(now[..from], truth[..from], "{name}");
        assert!(now[from..].iter().all(|data| data == MALFORMED), "{name}: {now:?}");
        assert_eq!(events(framing, &body).filter(|event| event.failed).count(), 0, "{name}");
    }
    stage.end(0);
}

#[test]
fn what_has_no_events_is_left_as_it_is_and_warned_of() {
    let stage = Stage::replay(&[]);
    for sample in complete() {
        let answer = stage.call(&sample.with("stream_garble:0")).expect(200);
        assert_eq!(answer.body(), sample.body(), "{}", sample.name);
    }
    let far = sample("chat stream");
    let answer = stage.call(&far.with("stream_garble:99;how=dropped")).expect(200);
    assert_eq!(answer.body(), far.body());
    let over = stage.end(1);
    assert_eq!(over.count("stream_garble").1, 0);
    let warnings = over.warnings();
    assert!(warnings.contains("the answer is not a stream of events"), "{warnings}");
    assert!(warnings.contains("events; the last event it needs"), "{warnings}");
}
