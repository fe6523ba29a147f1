//! Tests of answers that end early: where, after which bytes, and what happens to the connection.

use std::time::Duration;

use loomrec_provider::Framing;
use loomrec_provider::framing::{EventFrame, events};
use serde_json::{Value, json};

use super::stage::{Sample, Stage, WORDS, complete, sample, streams};
use crate::support::shape::{chat, chat_events, chat_streamed};
use crate::support::{Answer, Call, End, Scene, Upstream};

const QUIET: Duration = Duration::from_millis(50);

/// Chunks as they are written in a chunked body.
fn framed(chunks: &[Vec<u8>]) -> Vec<u8> {
    let one =
        |chunk: &Vec<u8>| [format!("{:X}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
    chunks.iter().flat_map(one).collect()
}

#[test]
fn a_stream_is_cut_behind_its_chunks_without_a_terminator() {
    let stage = Stage::replay(&[]);
    for (raise, end) in [
        ("", End::Reset),
        (";raise=reset", End::Reset),
        (";raise=ConnectionError", End::Reset),
        (";raise=close", End::Closed),
    ] {
        for sample in streams() {
            for after in 0..4 {
                let about = format!("{} {after}{raise}", sample.name);
                let mut client = stage.server.connect();
                client.send(&sample.with(&format!("stream_truncate:{after}{raise}")));
                let head = client.head();
                assert_eq!(head.line, "HTTP/1.1 200 Some Reason", "{about}");
                assert_eq!(head.header("x-loomrec-fault"), Some("stream_truncate"), "{about}");
                assert_eq!(head.header("transfer-encoding"), Some("chunked"), "{about}");
                let (bytes, ended) = client.everything();
                assert_eq!(bytes, framed(&sample.chunks[..after]), "{about}");
                assert_eq!(ended, end, "{about}");
            }
        }
    }
    stage.end(0);
}

#[test]
fn a_stream_is_cut_behind_as_many_pieces_of_text_as_are_said() {
    let stage = Stage::replay(&[]);
    for sample in streams() {
        for (pieces, word) in (1..).zip(WORDS) {
            let about = format!("{} {pieces}", sample.name);
            let fault = format!("stream_truncate;after_text_events={pieces};raise=ReadError");
            let mut client = stage.server.connect();
            client.send(&sample.with(&fault));
            client.head();
            let has_word =
                |chunk: &Vec<u8>| chunk.windows(word.len()).any(|bytes| bytes == word.as_bytes());
            let last = sample.chunks.iter().position(has_word).unwrap();
            let (bytes, ended) = client.everything();
            assert_eq!(bytes, framed(&sample.chunks[..=last]), "{about}");
            assert_eq!(ended, End::Reset, "{about}");
        }
    }
    stage.end(0);
}

#[test]
fn a_stream_ends_well_and_early_and_the_connection_goes_on() {
    let stage = Stage::replay(&["--repeat", "last"]);
    let mut client = stage.server.connect();
    for sample in streams() {
        for after in 0..4 {
            let call = sample.with(&format!("stream_truncate:{after};raise=clean_eof"));
            let answer = client.exchange(&call).expect(200);
            assert_eq!(answer.chunks, sample.chunks[..after], "{} {after}", sample.name);
        }
        assert_eq!(client.exchange(&sample.call).expect(200).chunks, sample.chunks);
    }
    stage.end(0);
}

/// The error in the last event of a stream.
fn last_error(sample: &Sample, answer: &[u8]) -> Value {
    if sample.framing == Some(Framing::Array) {
        let array: Value = serde_json::from_slice(answer).unwrap();
        return array.as_array().unwrap().last().unwrap().clone();
    }
    let events: Vec<_> = events(sample.framing.unwrap(), answer).collect();
    let last = events.last().unwrap();
    let mut data: Value = serde_json::from_slice(last.data.as_deref().unwrap()).unwrap();
    if let Some(name) = last.name {
        data["named"] = name.into();
    }
    data
}

#[test]
fn an_error_within_a_stream_is_the_providers_own_and_its_last_event() {
    let stage = Stage::replay(&["--repeat", "last"]);
    let mut client = stage.server.connect();
    let (said, busy) = ("The server had an error while processing your request.", "Overloaded");
    for sample in streams() {
        for (more, status) in [("", 500), (";status_code=529", 529)] {
            let message = if status == 500 { said } else { busy };
            let call = sample.with(&format!("stream_truncate:2;raise=error_event{more}"));
            let answer = client.exchange(&call).expect(200);
            let about = format!("{}: {}", sample.name, answer.text());
            assert_eq!(answer.chunks[..2], sample.chunks[..2], "{about}");
            assert_eq!(answer.chunks.len(), 3, "{about}");
            let kind =
                |usual: &str, busy: &str| if status == 500 { usual } else { busy }.to_owned();
            let expected = match sample.name {
                "chat stream" => json!({ "error": { "message": message, "type": "server_error",
                    "param": null, "code": null } }),
                "message stream" => json!({ "type": "error", "named": "error",
                    "error": { "type": kind("api_error", "overloaded_error"), "message": message } }),
                "gemini stream" | "gemini array" => {
                    let status_word =
                        last_error(&sample, &answer.body())["error"]["status"].clone();
                    assert!(status_word.is_string(), "{about}");
                    json!({ "error": { "code": status, "message": message, "status": status_word } })
                }
                "ollama lines" => json!({ "error": message }),
                _ => json!({ "message": message, "named":
                    kind("internalServerException", "serviceUnavailableException") }),
            };
            assert_eq!(last_error(&sample, &answer.body()), expected, "{about}");
        }
    }
    let told = sample("message stream").with("stream_truncate:1;raise=error_event;message=no luck");
    assert!(stage.call(&told).expect(200).text().contains("\"message\":\"no luck\""));
    stage.end(0);
}

#[test]
fn an_error_event_in_bytes_is_what_the_provider_would_send() {
    let stage = Stage::replay(&[]);
    let last = |name: &str| {
        let answer =
            stage.call(&sample(name).with("stream_truncate:1;raise=error_event;message=x"));
        String::from_utf8(answer.expect(200).chunks.last().unwrap().clone()).unwrap()
    };
    assert_eq!(
        last("chat stream"),
        "data: {\"error\":{\"message\":\"x\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n"
    );
    assert_eq!(
        last("message stream"),
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}\n\n"
    );
    assert_eq!(last("ollama lines"), "{\"error\":\"x\"}\n");
    let array = last("gemini array");
    assert!(array.starts_with(",\r\n{\"error\"") && array.ends_with("}]"), "{array}");
    // With the right checksums: only the frame marks it as an error.
    let frame = EventFrame {
        name: Some("internalServerException"),
        data: Some(json!({ "message": "x" })),
        exception: true,
    };
    let fault = "stream_truncate:1;raise=error_event;message=x";
    let answer = stage.call(&sample("converse stream").with(fault)).expect(200);
    assert_eq!(answer.chunks[1..], Framing::EventStream.write_events(&[frame]));
    stage.end(0);
}

#[test]
fn a_stalled_answer_stays_open_and_silent_until_its_client_leaves() {
    let stage = Stage::replay(&[]);
    std::thread::scope(|scope| {
        for sample in streams() {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.server.connect();
                client.send(&sample.with("stream_truncate:2;raise=stall"));
                client.head();
                let seen: Vec<_> = (0..2).filter_map(|_| client.chunk()).collect();
                assert_eq!(seen, sample.chunks[..2], "{}", sample.name);
                assert!(client.is_quiet_for(QUIET), "{}", sample.name);
            });
        }
    });
    let left = |line: &Value| line["outcome"] == "noticed" && line["by"] == "left";
    stage.journal_with(left);
    let mut client = stage.server.connect();
    client.send(&sample("chat").with("stream_truncate;after_bytes=5;raise=stall"));
    client.head();
    let mut seen = Vec::new();
    while seen.len() < 5 {
        seen.extend(client.chunk().unwrap());
    }
    assert_eq!(seen, sample("chat").body()[..5]);
    assert!(client.is_quiet_for(QUIET));
    // The end of the run is the end of the connection; announced bytes are still missing.
    stage.end(0);
    assert_eq!((client.chunk(), client.ended()), (None, Some(End::Closed)));
}

#[test]
fn a_complete_answer_is_cut_in_its_middle_with_its_length_announced() {
    let stage = Stage::replay(&[]);
    for sample in complete() {
        let (body, name) = (sample.body(), sample.name);
        for (more, length) in [("", body.len() / 2), (";after_bytes=7", 7), (";after_bytes=0", 0)] {
            for (raise, end) in [("reset", End::Reset), ("close", End::Closed)] {
                let mut client = stage.server.connect();
                client.send(&sample.with(&format!("stream_truncate{more};raise={raise}")));
                let head = client.head();
                assert_eq!(head.length(), Some(body.len()), "{name}{more}");
                let seen = client.everything();
                assert_eq!(seen, (body[..length].to_vec(), end), "{name}{more} {raise}");
            }
            let call = sample.with(&format!("stream_truncate{more};raise=clean_eof"));
            let answer = stage.call(&call).expect(200);
            assert_eq!(answer.body(), body[..length], "{name}{more}");
        }
        // A complete answer has no place for an event: the error is the answer.
        let call = sample.with("stream_truncate;raise=error_event;status_code=503;message=x");
        let answer = stage.call(&call).expect(503);
        assert!(answer.text().contains("\"x\""), "{name}: {}", answer.text());
    }
    stage.end(0);
}

/// A stream whose chunks do not end where events do.
fn odd() -> (Scene, Vec<Vec<u8>>, Vec<String>) {
    let events = chat_events(&["All ", "g\u{f6}od ", "\u{2603}", "."]);
    let chunks: Vec<Vec<u8>> =
        events.concat().into_bytes().chunks(97).map(<[u8]>::to_vec).collect();
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::events(&chunks)), &[chat_streamed("hi")]);
    (scene, chunks, events)
}

/// The first bytes of chunks, in those chunks.
fn cut(chunks: &[Vec<u8>], mut length: usize) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for chunk in chunks {
        let part = &chunk[..length.min(chunk.len())];
        length -= part.len();
        if !part.is_empty() {
            out.push(part.to_vec());
        }
    }
    out
}

#[test]
fn events_and_bytes_are_counted_wherever_chunks_end() {
    let (scene, chunks, events) = odd();
    let stage = Stage::of(scene, &[]);
    let seen = |fault: &str| {
        let mut client = stage.server.connect();
        client.send(
            &chat_streamed("hi").header(&format!("x-loomrec-fault: stream_truncate;{fault}")),
        );
        client.head();
        client.everything()
    };
    for count in 0..events.len() {
        let length = events[..count].concat().len();
        let expected = (framed(&cut(&chunks, length)), End::Reset);
        assert_eq!(seen(&format!("after_events={count}")), expected, "{count} events");
    }
    let snowman = events.concat().find('\u{2603}').unwrap();
    for length in [1, 96, 97, 98, snowman + 1, snowman + 2] {
        let expected = (framed(&cut(&chunks, length)), End::Closed);
        assert_eq!(seen(&format!("after_bytes={length};raise=close")), expected, "{length} bytes");
    }
    for count in 0..chunks.len() {
        let expected = (framed(&chunks[..count]), End::Reset);
        assert_eq!(seen(&format!("after_chunks={count}")), expected, "{count} chunks");
    }
    // An error comes after a whole event, because otherwise it could not be read.
    let call = chat_streamed("hi");
    let call = call.header("x-loomrec-fault: stream_truncate;after_bytes=100;raise=error_event");
    let text = stage.call(&call).expect(200).text();
    let whole = events.iter().scan(0, |sum, event| {
        Some(
            *sum + {
                *sum += event.len();
                0
            },
        )
    });
    let ends: Vec<usize> = whole.collect();
    let before = text.find("data: {\"error\"").unwrap();
    assert!(ends.contains(&before) && before >= 100, "{before} is none of {ends:?}: {text}");
    stage.end(0);
}

#[test]
fn a_place_behind_the_end_is_warned_of_and_the_answer_is_whole() {
    let stage = Stage::replay(&[]);
    for (name, place) in [
        ("chat stream", "after_chunks=99"),
        ("message stream", "after_events=99"),
        ("gemini stream", "after_bytes=99999"),
        ("chat", "after_chunks=9"),
        ("message", "after_events=1"),
    ] {
        let sample = sample(name);
        let answer = stage.call(&sample.with(&format!("stream_truncate;{place}"))).expect(200);
        assert_eq!(answer.body(), sample.body(), "{name} {place}");
    }
    let over = stage.end(1);
    assert_eq!(over.count("stream_truncate"), (5, 0));
    let warnings = over.warnings();
    assert!(warnings.contains("stream_truncate"), "{warnings}");
    assert!(warnings.contains("chunks; the cut is at 99"), "{warnings}");
    let Value::Array(all) = &over.receipt["faults"]["warnings"] else { panic!("{warnings}") };
    assert_eq!(all.iter().filter_map(|one| one["calls"].as_u64()).sum::<u64>(), 5, "{warnings}");
    assert!(over.finished.stderr.contains("warning: stream_truncate"), "{}", over.finished.stderr);
}

#[test]
fn an_answer_that_was_recorded_in_the_other_form_is_cut_in_the_one_asked_for() {
    let stage = Stage::replay(&["--repeat", "last"]);
    let cut = |call: Call| {
        let mut client = stage.server.connect();
        client.send(&call.header("x-loomrec-fault: stream_truncate:2;raise=close"));
        client.answer().unwrap()
    };
    // Recorded complete: each chunk of the converted stream is an event.
    let whole = stage.call(&chat_streamed("complete")).expect(200);
    let answer = cut(chat_streamed("complete"));
    assert_eq!((answer.end, answer.chunks.len()), (End::Closed, 2));
    assert_eq!(answer.chunks[0], whole.chunks[0]);
    // Recorded as a stream: the converted answer is complete, and is cut in its middle.
    let whole = stage.call(&chat("s")).expect(200).body();
    let mut client = stage.server.connect();
    client.send(&chat("s").header("x-loomrec-fault: stream_truncate"));
    assert_eq!(client.head().length(), Some(whole.len()));
    assert_eq!(client.everything(), (whole[..whole.len() / 2].to_vec(), End::Reset));
    stage.end(0);
}

#[test]
fn a_take_that_was_cut_short_is_still_owed() {
    let stage = Stage::replay(&["--fail-unused"]);
    for sample in streams() {
        let cut = stage.call(&sample.with("stream_truncate:1;raise=close"));
        assert_eq!(cut.end, End::Closed);
    }
    for sample in super::stage::samples() {
        assert_eq!(stage.call(&sample.call).expect(200).body(), sample.body());
    }
    stage.end(0);
}
