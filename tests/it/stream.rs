//! Tests of streams: each chunk as it comes, with the same bytes, and how they end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed, message_streamed};
use crate::support::{Answer, End, Gate, Scene, Server, Upstream};

/// A recording of one streamed chat call, its chunk times set by hand.
fn timed(times: &[f64]) -> Scene {
    let scene = Scene::new();
    let chunks: Vec<String> = (0..times.len()).map(|n| format!("data: {n}\n\n")).collect();
    let upstream = Upstream::always(Answer::events(&chunks));
    scene.recorded(&upstream, &[chat_streamed("hi")]);
    let mut file = scene.json();
    let entries = file.as_object_mut().unwrap();
    let (_, entry) = entries.iter_mut().find(|(name, _)| !name.starts_with('_')).unwrap();
    for (n, at) in times.iter().enumerate() {
        entry["response"]["chunks"][n][0] = json!(at);
    }
    entry["latency_ms"] = json!(times.last().unwrap());
    scene.write(file.to_string());
    scene
}

#[test]
fn chunk_1_is_here_before_chunk_2_is_sent_when_recording() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let answer = Answer::stream().chunk("data: 1\n\n").wait(&gate).chunk("data: 2\n\n").end();
    let upstream = Upstream::always(answer);
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    assert_eq!(client.chunk().unwrap(), b"data: 1\n\n");
    assert!(!gate.is_open());
    gate.open();
    let rest = client.collect(head).expect(200);
    assert_eq!(rest.chunks, [b"data: 2\n\n"]);
    server.stop().expect(0);
}

#[test]
fn the_head_is_here_before_the_first_chunk_when_recording() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = Upstream::always(Answer::stream().wait(&gate).chunk("data: 1\n\n").end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    gate.open();
    assert_eq!(client.collect(head).expect(200).text(), "data: 1\n\n");
    server.stop().expect(0);
}

#[test]
fn chunk_1_is_here_before_chunk_2_is_sent_when_replaying_by_recorded_times() {
    let scene = timed(&[1.0, 600_000.0]);
    let server = scene.replay(&["--latency", "replay"]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    client.head();
    assert_eq!(client.chunk().unwrap(), b"data: 0\n\n");
    assert!(client.is_quiet_for(Duration::from_millis(300)));
    drop(client);
    server.process.signal("KILL");
}

#[test]
fn recorded_times_are_kept_and_speed_divides_them() {
    let scene = timed(&[100.0, 400.0]);
    let lasts = |more: &[&str], file: &Scene| {
        let server = file.replay(more);
        let start = Instant::now();
        server.call(&chat_streamed("hi")).expect(200);
        let time = start.elapsed();
        server.stop().expect(0);
        time
    };
    assert!(lasts(&["--latency", "replay"], &scene) >= Duration::from_millis(390));
    let slow = timed(&[1_000.0, 600_000.0]);
    lasts(&["--latency", "replay", "--speed", "6000"], &slow);
    lasts(&[], &slow);
    let constant = ["--latency", "constant:300"];
    assert!(lasts(&constant, &slow) >= Duration::from_millis(295));
}

#[test]
fn an_event_stream_comes_back_byte_for_byte_and_chunk_for_chunk() {
    let snow = "data: \u{2603}\n\n".as_bytes();
    let chunks: Vec<&[u8]> = vec![
        b": OPENROUTER PROCESSING\r\n\r\n",
        b"id: 7\r\nevent: message\r\nretry: 10\r\ndata: {\"a\":1}\r\n\r\n",
        b"data: first\ndata: second\n\nda",
        b"ta: cut",
        b"\r",
        b"\n\r\n:\n\n",
        &snow[..7],
        &snow[7..],
        b"\xff\xfe raw \x00 bytes",
        b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
        b"data: without an end",
    ];
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::events(&chunks)));
    let call = [message_streamed("hi")];
    let recorded = scene.recorded(&upstream, &call).remove(0).expect(200);
    assert_eq!(recorded.body(), chunks.concat());
    let replayed = scene.replayed(&["--strict"], &call, 0).remove(0).expect(200);
    assert_eq!(replayed.chunks, recorded.chunks);
    assert_eq!(replayed.header("content-type"), Some("text/event-stream"));
}

#[test]
fn chunk_boundaries_are_those_of_the_upstream() {
    let (scene, gates) = (Scene::new(), [Gate::new(), Gate::new()]);
    let answer = Answer::stream().chunk("da").wait(&gates[0]).chunk("ta: 1\n\ndata: 2");
    let upstream = Upstream::always(answer.wait(&gates[1]).chunk("\n\n").end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    for (n, expected) in ["da", "ta: 1\n\ndata: 2"].iter().enumerate() {
        assert_eq!(client.chunk().unwrap(), expected.as_bytes());
        gates[n].open();
    }
    client.collect(head).expect(200);
    server.stop().expect(0);
    let replayed = scene.replayed(&[], &[chat_streamed("hi")], 0).remove(0);
    assert_eq!(replayed.chunks, [&b"da"[..], b"ta: 1\n\ndata: 2", b"\n\n"]);
}

#[test]
fn chunks_are_stamped_with_the_time_since_the_request() {
    let scene = Scene::new();
    let answer = Answer::stream().chunk("data: 1\n\n").pause(120).chunk("data: 2\n\n").end();
    scene.recorded(&Upstream::always(answer), &[chat_streamed("hi")]);
    let take = scene.only_take();
    let chunks = take["response"]["chunks"].as_array().unwrap();
    let at = |n: usize| chunks[n][0].as_f64().unwrap();
    assert!(at(0) < at(1) && at(1) >= 119.0, "{chunks:?}");
    assert!(take["latency_ms"].as_f64().unwrap() >= at(1), "{take}");
}

#[test]
fn a_long_stream_is_kept_whole() {
    let words: Vec<String> = (0..2_000).map(|n| format!("word {n} ")).collect();
    let events = chat_events(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::events(&events)));
    let recorded = scene.recorded(&upstream, &[chat_streamed("hi")]).remove(0).expect(200);
    assert_eq!(recorded.text(), events.concat());
    assert_eq!(scene.only_take()["content"], words.concat());
    let replayed = scene.replayed(&[], &[chat_streamed("hi")], 0).remove(0).expect(200);
    assert_eq!(replayed.chunks, recorded.chunks);
}

#[test]
fn chunks_sent_in_one_write_are_kept_as_they_were_sent() {
    let chunks: Vec<String> =
        (0..200).map(|n| format!("data: {n:03} {}\n\n", "x".repeat(138))).collect();
    // In one step instead of one per chunk.
    let mut burst = Vec::new();
    for chunk in &chunks {
        burst.extend_from_slice(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes());
    }
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = Upstream::always(Answer::stream().wait(&gate).bytes(burst).end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    gate.open();
    let passed = client.collect(head).expect(200);
    server.stop().expect(0);
    assert_eq!(passed.chunks.len(), 200);
    assert!(passed.chunks.iter().zip(&chunks).all(|(passed, sent)| passed == sent.as_bytes()));
    assert_eq!(scene.only_take()["response"]["chunks"].as_array().map(Vec::len), Some(200));
    let replayed = scene.replayed(&["--strict"], &[chat_streamed("hi")], 0).remove(0).expect(200);
    assert_eq!(replayed.chunks, passed.chunks);
}

/// The only recorded entry, read after the stop, because a client that left cannot say when it is
/// there.
fn entry_after_stop(scene: &Scene, server: Server) -> Value {
    server.stop().expect(0);
    scene.only_take()
}

#[test]
fn a_client_that_leaves_in_the_middle_is_recorded_complete() {
    let (scene, gate, events) = (Scene::new(), Gate::new(), chat_events(&["all ", "of ", "it"]));
    let answer = Answer::stream().chunk(&events[0]).wait(&gate);
    let rest = events[1..].iter().fold(answer, |answer, event| answer.chunk(event));
    let upstream = Upstream::always(rest.end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    client.head();
    client.chunk().unwrap();
    drop(client);
    gate.open();
    let entry = entry_after_stop(&scene, server);
    assert_eq!(
        (entry["response"]["end"].as_str(), entry["content"].as_str()),
        (Some("complete"), Some("all of it"))
    );
    let replayed = scene.replayed(&["--strict"], &[chat_streamed("hi")], 0).remove(0).expect(200);
    assert_eq!(replayed.text(), events.concat());
}

#[test]
fn a_client_that_leaves_before_the_answer_is_recorded_complete() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let late = Answer::raw("").wait(&gate).bytes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    let upstream = Upstream::always(late);
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    upstream.wait_for(1);
    drop(client);
    gate.open();
    let entry = entry_after_stop(&scene, server);
    assert_eq!(entry["response"]["end"], "complete");
}

/// Records a stream that ends by `finish` after its first chunk, and replays it.
fn cut(finish: fn(Answer) -> Answer) -> (Scene, [(Vec<u8>, End); 2]) {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = Upstream::always(finish(Answer::stream().chunk("data: 1\n\n").wait(&gate)));
    let see = |server: Server| {
        let mut client = server.connect();
        client.send(&chat_streamed("hi"));
        let head = client.head();
        let first = client.until("data: 1\n\n");
        gate.open();
        let rest = client.collect(head);
        server.stop().expect(0);
        ([first, rest.body()].concat(), rest.end)
    };
    let recorded = see(scene.record(&upstream, &["--keep-failures"]));
    let replayed = see(scene.replay(&["--strict"]));
    (scene, [recorded, replayed])
}

#[test]
fn a_reset_is_recorded_and_replayed_as_a_reset() {
    let (scene, seen) = cut(Answer::reset);
    assert_eq!(
        seen,
        [(b"data: 1\n\n".to_vec(), End::Reset), (b"data: 1\n\n".to_vec(), End::Reset)]
    );
    let response = &scene.only_take()["response"];
    assert_eq!(
        (response["end"].as_str(), response["cut"].as_str()),
        (Some("upstream_abort"), Some("reset"))
    );
}

#[test]
fn a_close_without_end_is_recorded_and_replayed_as_a_close() {
    let (scene, seen) = cut(Answer::close);
    assert_eq!(
        seen,
        [(b"data: 1\n\n".to_vec(), End::Closed), (b"data: 1\n\n".to_vec(), End::Closed)]
    );
    let response = &scene.only_take()["response"];
    assert_eq!(
        (response["end"].as_str(), response["cut"].as_str()),
        (Some("upstream_abort"), Some("close"))
    );
}

#[test]
fn a_close_inside_a_chunk_keeps_the_bytes_that_came() {
    let (_, seen) = cut(|answer| answer.bytes("20\r\nonly a part").close());
    assert_eq!(seen[0].1, End::Closed);
    assert_eq!(seen[1], seen[0]);
}

#[test]
fn a_body_shorter_than_its_length_is_replayed_as_short() {
    let scene = Scene::new();
    let headers = ["content-type: application/json", "content-length: 100"];
    let upstream = Upstream::always(Answer::head(200, &headers).bytes("{\"half\":").close());
    let recorded = scene.recorded(&upstream, &[chat("hi")]).remove(0);
    let replayed = scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0);
    for answer in [recorded, replayed] {
        assert_eq!((answer.text().as_str(), answer.end), ("{\"half\":", End::Closed));
        assert_eq!(answer.header("content-length"), Some("100"));
    }
    assert_eq!(scene.only_take()["response"]["end"], "upstream_abort");
}

#[test]
fn a_body_beyond_the_copy_limit_streams_through_and_is_never_served() {
    let (scene, body) = (Scene::new(), chat_answer(&"long ".repeat(20_000)));
    let upstream = Upstream::always(Answer::json(200, &body));
    let server = scene.record(&upstream, &["--max-body", "10000"]);
    assert_eq!(server.call(&chat("hi")).expect(200).text(), body);
    let said = server.stop();
    assert!(said.stderr.to_lowercase().contains("truncated"), "{}", said.stderr);
    assert_eq!(scene.only_take()["response"]["end"], "truncated");
    let miss = scene.replayed(&[], &[chat("hi")], 1).remove(0).expect(422);
    assert!(miss.text().contains("recorded incomplete"), "{}", miss.text());
}
