//! Tests of ending a run while calls are still open.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::support::loomrec::command;
use crate::support::shape::chat;
use crate::support::{Answer, Gate, Scene, Server, Upstream};

#[test]
fn a_client_that_stopped_reading_does_not_hold_up_the_end() {
    let scene = Scene::new();
    let large = vec![b'x'; 64 << 20];
    let upstream = Upstream::always(Answer::whole(200, &["content-type: text/plain"], large));
    // Beyond the limit of the copy, the upstream is slowed down to the client's pace.
    let mut server = scene.record(&upstream, &["--max-body", "1000"]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    client.head();
    server.process.signal("INT");
    server.process.wait_for("waiting for 1 answer; Ctrl-C again stops now, and keeps");
    let ended = server.stop().expect(1);
    assert!(ended.stderr.contains("1 recorded incomplete"), "{}", ended.stderr);
    assert_eq!(scene.only_take()["response"]["end"], "truncated");
}

#[test]
fn a_call_whose_client_left_before_an_answer_came_is_given_up() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = Upstream::always(Answer::default().wait(&gate));
    let server = scene.record(&upstream, &["--drain", "0"]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    upstream.wait_for(1);
    drop(client);
    let since = Instant::now();
    server.stop().expect(0);
    assert!(since.elapsed() < Duration::from_secs(8), "{:?}", since.elapsed());
    gate.open();
}

#[test]
fn a_call_whose_client_left_before_an_answer_came_is_recorded_when_it_comes_in_time() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream =
        Upstream::always(Answer::default().wait(&gate).bytes(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        ));
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    upstream.wait_for(1);
    drop(client);
    gate.open();
    server.stop().expect(0);
    assert_eq!(scene.only_take()["response"]["status"], 200);
}

#[test]
fn half_a_request_does_not_hold_up_the_end() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let head = "POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9";
    for half in [head.to_owned(), format!("{head}\r\n\r\n{{\"mod")] {
        let server = scene.record(&upstream, &[]);
        let (mut whole, mut client) = (server.connect(), server.connect());
        client.write(&half);
        // By the time another call is answered, the half request has been read.
        whole.exchange(&chat("hi")).expect(200);
        let since = Instant::now();
        let ended = server.stop().expect(0);
        assert!(since.elapsed() < Duration::from_secs(8), "{:?} {half}", since.elapsed());
        assert!(!ended.stderr.contains("waiting for"), "{}", ended.stderr);
        assert!(client.answer().is_err(), "{half}");
    }
    assert_eq!(upstream.requests(), 2);
}

#[test]
fn replay_says_that_it_waits_for_an_answer_until_the_second_interrupt() {
    let scene = Scene::new();
    let large = vec![b'x'; 64 << 20];
    let upstream = Upstream::always(Answer::whole(200, &["content-type: text/plain"], large));
    scene.recorded(&upstream, &[chat("hi")]);
    let mut server = scene.replay(&[]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    client.head();
    server.process.signal("INT");
    server.process.wait_for("loomrec: waiting for 1 answer; Ctrl-C again stops now\n");
    server.stop().expect(0);
}

#[test]
fn server_stops_when_its_stdin_ends_if_asked_to() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let args =
        scene.record_args(&upstream.url(), &["--stop-with-stdin", "--listen", "127.0.0.1:0"]);
    let (mut server, mut stdin) = Server::with_stdin(&mut command(scene.dir(), &args));
    // As long as it is open, the server goes on, whatever is written.
    stdin.write_all(b"stop\n").unwrap();
    server.call(&chat("hi")).expect(200);
    assert!(!server.process.has_ended());
    drop(stdin);
    server.process.wait().expect(0).says(&["1 recorded"]);
    assert_eq!(scene.takes().len(), 1);
    scene.run(&["replay", "-r", "run.json", "--stop-with-stdin", "--", "true"]).expect(2);
}
