//! Tests of several recorded connections to one address: the client's first message decides which of
//! them a connection is, and no client gets a message of another one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{OTHER, recording};
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, open, say};
use crate::support::{Scene, Server};

/// How the server of a test begins.
#[derive(Clone, Copy, PartialEq)]
enum Greeting {
    /// With the first message of its client.
    None,
    /// With the same message on each connection.
    Same,
    /// With another one on each.
    Own,
}

/// An upstream that answers each text with a text of its own.
fn upstream(greeting: Greeting) -> SocketUpstream {
    let count = std::sync::atomic::AtomicU32::new(0);
    SocketUpstream::start(move |socket| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match greeting {
            Greeting::None => {}
            Greeting::Same => say(socket, &json!({ "hello": 0 })),
            Greeting::Own => say(socket, &json!({ "hello": number })),
        }
        while let Ok(Message::Text(text)) = socket.read() {
            let asked: Value = serde_json::from_str(&text).unwrap();
            say(socket, &json!({ "number": number, "answer": asked["say"] }));
        }
    })
}

fn opened(server: &Server, greeting: Greeting) -> Socket {
    let mut socket = open(server, OTHER, &[]).unwrap().0;
    if greeting != Greeting::None {
        hear(&mut socket);
    }
    socket
}

/// Says two words, and returns the answers.
fn ask(socket: &mut Socket, word: &str) -> [Value; 2] {
    [word, "more"].map(|word| {
        say(socket, &json!({ "say": word }));
        hear(socket)
    })
}

/// A recording of a connection for each word, and the answers on each.
fn recorded(greeting: Greeting, words: &[&str]) -> (Scene, Vec<[Value; 2]>) {
    let (scene, upstream) = (Scene::new(), upstream(greeting));
    let server = recording(&scene, &upstream, &[]);
    let heard = words.iter().map(|word| {
        let mut socket = opened(&server, greeting);
        let heard = ask(&mut socket, word);
        close(&mut socket, 1000, "");
        heard
    });
    let heard = heard.collect();
    server.stop().expect(0);
    (scene, heard)
}

const WORDS: [&str; 4] = ["one", "two", "three", "four"];
const ORDER: [usize; 4] = [2, 0, 3, 1];

#[test]
fn first_message_decides_which_recorded_connection_it_is() {
    for greeting in [Greeting::None, Greeting::Same] {
        let (scene, heard) = recorded(greeting, &WORDS);
        let flags = ["--strict", "--fail-unused", "--journal", "run.jsonl"];
        let server = scene.replay(&flags);
        for at in ORDER {
            let mut socket = opened(&server, greeting);
            assert_eq!(ask(&mut socket, WORDS[at]), heard[at]);
            close(&mut socket, 1000, "");
        }
        server.stop().expect(0);
        let journal = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
        let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let takes: Vec<_> = lines.filter_map(|line| line["take"].as_u64()).collect();
        assert_eq!(takes, ORDER.map(|at| at as u64 + 1), "{journal}");
    }
}

#[test]
fn connections_that_are_open_at_once_exchange_what_was_recorded() {
    for greeting in [Greeting::None, Greeting::Same] {
        let (scene, heard) = recorded(greeting, &WORDS);
        let server = scene.replay(&["--strict", "--fail-unused"]);
        let mut sockets: Vec<Socket> = WORDS.iter().map(|_| opened(&server, greeting)).collect();
        for (socket, at) in sockets.iter_mut().zip(ORDER) {
            assert_eq!(ask(socket, WORDS[at]), heard[at]);
        }
        sockets.iter_mut().for_each(|socket| close(socket, 1000, ""));
        server.stop().expect(0);
    }
}

#[test]
fn client_that_leaves_without_a_word_leaves_what_it_had_to_others() {
    let (scene, heard) = recorded(Greeting::Same, &WORDS[..2]);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let mut first = opened(&server, Greeting::Same);
    let mut second = opened(&server, Greeting::Same);
    // The first connection has what the second one was to have.
    assert_eq!(ask(&mut first, "two"), heard[1]);
    close(&mut second, 1000, "");
    let mut third = opened(&server, Greeting::Same);
    assert_eq!(ask(&mut third, "one"), heard[0]);
    close(&mut first, 1000, "");
    close(&mut third, 1000, "");
    server.stop().expect(0);
}

#[test]
fn client_that_heard_another_connection_gets_no_message_of_its_own_one() {
    let (scene, heard) = recorded(Greeting::Own, &WORDS[..2]);
    let server = scene.replay(&["--strict"]);
    let mut socket = opened(&server, Greeting::Own);
    say(&mut socket, &json!({ "say": "two" }));
    assert_eq!(hear(&mut socket)["close"], 1008);
    let mut again = opened(&server, Greeting::Own);
    assert_eq!(ask(&mut again, "one"), heard[0]);
    close(&mut again, 1000, "");
    server.stop().expect(1).says(&["1 missed"]);
}

#[test]
fn first_message_that_no_connection_has_left_is_a_miss() {
    let (scene, heard) = recorded(Greeting::None, &WORDS[..2]);
    let server = scene.replay(&["--strict"]);
    let mut used = opened(&server, Greeting::None);
    assert_eq!(ask(&mut used, "two"), heard[1]);
    for (word, least, most) in [("other", 0, 900), ("two", 900, 9000)] {
        let mut socket = opened(&server, Greeting::None);
        let began = Instant::now();
        say(&mut socket, &json!({ "say": word }));
        assert_eq!(hear(&mut socket)["close"], 1008);
        let took = began.elapsed();
        // Another handshake that is being answered may bring what is missing.
        let range = Duration::from_millis(least)..Duration::from_millis(most);
        assert!(range.contains(&took), "{word}: {took:?}");
    }
    close(&mut used, 1000, "");
    server.stop().expect(1).says(&["2 missed"]);
}

#[test]
fn sessions_share_no_connection() {
    let (scene, heard) = recorded(Greeting::None, &WORDS[..2]);
    let server = scene.replay(&["--strict"]);
    let header = |name: &str| format!("x-loomrec-session: {name}");
    let open_in = |name: &str| open(&server, OTHER, &[&header(name)]).unwrap().0;
    let (mut a, mut b) = (open_in("a"), open_in("b"));
    assert_eq!(ask(&mut a, "two"), heard[1]);
    assert_eq!(ask(&mut b, "two"), heard[1]);
    close(&mut a, 1000, "");
    close(&mut b, 1000, "");
    server.stop().expect(0);
}
