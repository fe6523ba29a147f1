//! Tests of limits for clients: time to send, connections, and the memory for idle ones.

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::loomrec::command_with_files;
use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Client, End, Scene, Server, Upstream};

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello")))
}

/// A recording of the prompt "hi".
fn recorded() -> Scene {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi")]);
    scene
}

#[test]
fn a_body_that_stops_is_a_408_and_goes_nowhere() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--client-timeout", "1"]);
    let mut client = server.connect();
    let call = chat("hi");
    client.write(call.head());
    client.write(&call.body_bytes()[..5]);
    let head = client.head();
    assert!(head.line.contains(" 408 "), "{head:?}");
    let answer = client.collect(head);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("--client-timeout"));
    assert_eq!(client.everything().1, End::Closed);
    server.stop().expect(1);
    assert_eq!((upstream.requests(), scene.recording().exists()), (0, false));
}

#[test]
fn a_body_that_drips_is_a_408_and_goes_nowhere() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--client-timeout", "2"]);
    let mut client = server.connect();
    client.write(Call::post(CHAT, vec![b' '; 1000]).head());
    let begun = Instant::now();
    while client.is_quiet_for(Duration::from_millis(500)) {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is waited for");
        client.write(" ");
    }
    let head = client.head();
    assert!(head.line.contains(" 408 "), "{head:?}");
    let answer = client.collect(head);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("1024 bytes a second"));
    server.stop().expect(1);
    assert_eq!((upstream.requests(), scene.recording().exists()), (0, false));
}

#[test]
fn a_body_that_comes_slowly_and_steadily_is_answered() {
    let scene = recorded();
    let server = scene.replay(&["--client-timeout", "2", "--repeat", "last"]);
    let mut client = server.connect();
    let mut body = chat_body("hi").to_string();
    body.push_str(&" ".repeat(6000));
    client.write(Call::post(CHAT, &body).head());
    let begun = Instant::now();
    for piece in body.as_bytes().chunks(1000) {
        client.write(piece);
        // Longer than the timeout in all.
        assert!(client.is_quiet_for(Duration::from_millis(500)) || begun.elapsed().as_secs() >= 2);
    }
    let head = client.head();
    client.collect(head).expect(200);
    server.stop().expect(0);
}

#[test]
fn a_head_that_stops_and_a_connection_that_asks_for_nothing_are_left() {
    let scene = recorded();
    let server = scene.replay(&["--client-timeout", "1", "--repeat", "last"]);
    let (mut silent, mut half, mut idle) = (server.connect(), server.connect(), server.connect());
    half.write("POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localh");
    idle.exchange(&chat("hi")).expect(200);
    for client in [&mut silent, &mut half, &mut idle] {
        assert_eq!(client.everything().0, b"");
    }
    server.stop().expect(0);
}

#[test]
fn an_answer_may_take_longer_than_a_client() {
    let scene = Scene::new();
    let body = chat_answer("Hello");
    let head = Answer::head(200, &[&format!("content-length: {}", body.len())]);
    let upstream =
        Upstream::always(head.pause(4000).bytes(&body[..9]).pause(4000).bytes(&body[9..]));
    let server = scene.record(&upstream, &["--client-timeout", "1"]);
    assert_eq!(server.call(&chat("hi")).expect(200).text(), body);
    server.stop().expect(0);
}

#[test]
fn a_connection_that_rested_goes_on_where_it_was() {
    let scene = recorded();
    let server = scene.replay(&["--repeat", "last"]);
    let mut client = server.connect();
    client.exchange(&chat("hi")).expect(200);
    // Longer than HTTP state is kept for a silent connection.
    assert!(client.is_quiet_for(Duration::from_secs(5)));
    client.exchange(&chat("hi")).expect(200);
    let (head, body) = (chat("hi").head(), chat_body("hi").to_string());
    let (first, rest) = head.split_at(20);
    client.write(first);
    assert!(client.is_quiet_for(Duration::from_secs(5)));
    client.write(rest);
    client.write(body);
    let head = client.head();
    client.collect(head).expect(200);
    server.stop().expect(0);
}

#[test]
fn a_connection_above_the_limit_gets_a_503_in_the_shape_of_the_provider() {
    let scene = recorded();
    // Of 66 files, 64 are not for connections.
    let args = scene.replay_args(&["--repeat", "last", "--listen", "127.0.0.1:0"]);
    let server = Server::spawn(&mut command_with_files(66, scene.dir(), &args));
    let mut held: Vec<Client> = (0..2).map(|_| server.connect()).collect();
    for client in &mut held {
        client.exchange(&chat("hi")).expect(200);
    }
    let refused = server.call(&chat("hi")).expect(503);
    assert_eq!(refused.header("x-loomrec-error"), Some("TooManyConnections"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("connection"), Some("close"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("ulimit -n"));
    held.pop();
    let until = Instant::now() + Duration::from_secs(20);
    while server.call(&chat("hi")).status != 200 {
        assert!(Instant::now() < until, "the place is not free again");
    }
    drop(held);
    server.stop().expect(1).says(&["there are 2 connections already"]);
}

#[test]
fn ten_thousand_idle_connections_cost_less_than_100_mb() {
    let limit = getrlimit(Resource::Nofile);
    let _unchanged = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = usize::try_from(allowed.saturating_sub(2000)).unwrap().min(10_000);
    let scene = recorded();
    let server = scene.replay(&["--repeat", "last"]);
    server.call(&chat("hi")).expect(200);
    let before = anonymous(&server).unwrap();
    let clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    // This one is accepted after all others.
    let health = Call::get("/__loomrec/health");
    server.call(&health).expect(200);
    let cost = anonymous(&server).unwrap().saturating_sub(before);
    assert!(cost <= 10_000 * count as u64, "{count} connections: {cost} bytes");
    drop(clients);
    server.stop().expect(0);
}

#[test]
fn what_a_connection_took_for_a_call_is_used_again_once_it_rests() {
    const EACH: usize = 400;
    let scene = recorded();
    let server = scene.replay(&["--repeat", "last"]);
    server.call(&chat("hi")).expect(200);
    let mut clients = Vec::new();
    let mut grown = || {
        let before = anonymous(&server).unwrap();
        for _ in 0..EACH {
            let mut client = server.connect();
            client.exchange(&chat("hi")).expect(200);
            clients.push(client);
        }
        let grown = anonymous(&server).unwrap().saturating_sub(before);
        assert!(clients.last_mut().unwrap().is_quiet_for(Duration::from_secs(7)));
        grown
    };
    let first = grown();
    // On a busy machine a connection may come to rest late.
    let later = (0..3).map(|_| grown()).min().unwrap();
    assert!(later * 4 < first * 3, "{EACH} connections cost {first} bytes, and {later} later");
    server.stop().expect(0);
}

/// The bytes of a server's anonymous memory, if the system reports them.
pub(crate) fn anonymous(server: &Server) -> Option<u64> {
    let path = format!("/proc/{}/smaps_rollup", server.process.pid());
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with("Anonymous:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
