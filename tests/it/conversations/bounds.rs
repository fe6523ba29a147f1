//! Tests of the bounds of conversations: what does not end well is stored all the same, and no client
//! makes loomrec hold more than it may.

use std::io::Write as _;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{OTHER, record_conversation, recording, update, upstream};
use crate::support::web_socket::{SocketUpstream, close, hear, moment, open, say};
use crate::support::{Scene, Server};

#[test]
fn conversation_of_a_client_that_vanishes_is_stored() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    say(&mut socket, &update());
    hear(&mut socket);
    hear(&mut socket);
    socket.get_ref().shutdown(Shutdown::Both).unwrap();
    moment();
    server.stop().expect(0);
    let messages = scene.only_take()["messages"].as_array().unwrap().clone();
    assert_eq!(messages.len(), 5);
    assert_eq!((&messages[4]["from"], &messages[4]["close"]), (&"client".into(), &1006.into()));
}

#[test]
fn conversation_that_is_open_when_the_run_ends_is_stored() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    say(&mut socket, &update());
    hear(&mut socket);
    hear(&mut socket);
    let stopped = std::thread::spawn(move || server.stop());
    assert_eq!(hear(&mut socket)["close"], 1001);
    drop(socket);
    stopped.join().unwrap().expect(0);
    let take = scene.only_take();
    assert_eq!(take["messages"].as_array().unwrap().len(), 4);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    say(&mut socket, &update());
    hear(&mut socket);
    hear(&mut socket);
    close(&mut socket, 1000, "");
    server.stop().expect(0);
}

#[test]
fn upstream_that_breaks_a_rule_ends_the_conversation_and_its_replay() {
    let mark = b"\x81\x02\xff\xfe";
    for (frame, code) in [(&b"\xf1\x00"[..], 1002), (&mark[..], 1007)] {
        let scene = Scene::new();
        let upstream = SocketUpstream::start(move |socket| {
            say(socket, &json!({ "type": "hello" }));
            socket.get_mut().write_all(frame).unwrap();
        });
        let server = recording(&scene, &upstream, &["--keep-failures"]);
        let heard = |server: &Server| {
            let (mut socket, _) = open(server, OTHER, &[]).unwrap();
            [hear(&mut socket), hear(&mut socket)]
        };
        let [hello, end] = heard(&server);
        assert_eq!((&hello["type"], &end["close"]), (&json!("hello"), &json!(code)));
        server.stop().expect(0);
        let server = scene.replay(&["--strict", "--fail-unused"]);
        assert_eq!(heard(&server), [hello, end]);
        server.stop().expect(0);
    }
}

#[test]
fn message_over_the_limit_ends_the_conversation() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &["--max-body", "1024"]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    socket.send(Message::text("x".repeat(2000))).unwrap();
    assert_eq!(hear(&mut socket)["close"], 1009);
    server.stop().expect(0);
}

#[test]
fn copy_over_its_limit_is_not_replayed_and_the_conversation_goes_on() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &["--max-body", "4096"]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    for _ in 0..4 {
        say(&mut socket, &json!({ "long": "x".repeat(2000) }));
        assert_eq!(hear(&mut socket)["type"], "echo");
        hear(&mut socket);
    }
    close(&mut socket, 1000, "");
    server.stop();
    let take = scene.only_take();
    assert_eq!((&take["response"]["end"], take.get("messages")), (&"truncated".into(), None));
}

#[test]
fn client_that_never_reads_holds_its_upstream_back() {
    let scene = Scene::new();
    let (sent, blocked) = std::sync::mpsc::channel();
    let upstream = SocketUpstream::start(move |socket| {
        socket.get_ref().set_write_timeout(Some(Duration::from_secs(2))).unwrap();
        let megabyte = Message::Binary(vec![7; 1 << 20].into());
        let count = (0..200).take_while(|_| socket.send(megabyte.clone()).is_ok()).count();
        sent.send(count).unwrap();
    });
    let server = recording(&scene, &upstream, &[]);
    let (socket, _) = open(&server, OTHER, &[]).unwrap();
    let count = blocked.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(count < 50, "{count} MiB were taken from the upstream");
    drop(socket);
    server.stop().expect(0);
}

#[test]
fn messages_come_at_their_recorded_times_after_what_released_them() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        hear(socket);
        std::thread::sleep(Duration::from_millis(400));
        say(socket, &json!({ "n": 1 }));
        close(socket, 1000, "");
    });
    let ask = |server: &crate::support::Server| {
        let (mut socket, _) = open(server, OTHER, &[]).unwrap();
        let began = Instant::now();
        say(&mut socket, &update());
        hear(&mut socket);
        let took = began.elapsed();
        crate::support::web_socket::finish(&mut socket);
        took
    };
    let server = recording(&scene, &upstream, &[]);
    ask(&server);
    server.stop().expect(0);
    for (latency, speed, least, most) in
        [("none", "1", 0, 300), ("replay", "1", 390, 5000), ("replay", "4", 95, 390)]
    {
        let server = scene.replay(&["--strict", "--latency", latency, "--speed", speed]);
        let took = ask(&server).as_millis();
        assert!((least..most).contains(&took), "{latency} {speed}: {took} ms");
        server.stop().expect(0);
    }
}

#[test]
fn conversations_leave_no_trace_in_a_recording_that_replays() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    scene.run(&["verify", scene.name()]).expect(0);
    let before = scene.text();
    let server = scene.replay(&["--strict"]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    assert_eq!(scene.text(), before);
}
