//! Tests of requests whose head cannot be read: each counts as a refused call, with its reason.

use http::StatusCode;
use serde_json::json;

use crate::support::http2_client::Http2Client;
use crate::support::shape::{CHAT, chat, chat_answer};
use crate::support::{Answer, Call, Scene, Server, Upstream};

/// Requests that are refused for their head alone, each with a part of the reason.
fn unreadable_requests() -> Vec<(Vec<u8>, &'static str)> {
    let request = |target: &str, lines: &str| {
        let host = "host: localhost\r\ncontent-length: 2\r\n";
        format!("POST {target} HTTP/1.1\r\n{host}{lines}\r\n{{}}").into_bytes()
    };
    let long = "a".repeat(600_000);
    vec![
        (request(CHAT, &"x-a: b\r\n".repeat(101)), "more than 100 headers"),
        (request(CHAT, &format!("x-a: {long}\r\n")), "more than 400 KB"),
        (request(&format!("{CHAT}?q={}", &long[..70_000]), ""), "its URL has more than 65534"),
        (request(&format!("{CHAT}?q=\"quoted\""), ""), "its head is not valid HTTP"),
        (request(&format!("{CHAT}?q=a b"), ""), "its head is not valid HTTP"),
        (request(CHAT, "content-length: 3\r\n"), "its head is not valid HTTP"),
        (request(CHAT, "transfer-encoding: gzip\r\n"), "its head is not valid HTTP"),
        (request(CHAT, "a b: c\r\n"), "its head is not valid HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "base URL with http://"),
    ]
}

/// Sends each on a connection of its own, and waits until that has ended.
fn send_unreadable(server: &Server) {
    for (request, _) in unreadable_requests() {
        let mut client = server.connect();
        client.write(request);
        client.everything();
    }
}

fn chat_upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("hello")))
}

/// A call with this many headers more.
fn with_headers(call: Call, count: usize) -> Call {
    (0..count).fold(call, |call, number| call.header(&format!("x-meta-{number}: 1")))
}

#[test]
fn unreadable_requests_are_refused_calls_of_a_recording_and_of_a_strict_replay() {
    let (scene, upstream) = (Scene::new(), chat_upstream());
    let server = scene.record(&upstream, &[]);
    send_unreadable(&server);
    let recorded =
        server.stop().expect(1).says(&["nothing was recorded, since calls were refused"]);

    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--strict"]);
    server.call(&chat("hi")).expect(200);
    send_unreadable(&server);
    let replayed = server.stop().expect(1).says(&["1 served", "0 missed"]);

    let count = format!("{} refused", unreadable_requests().len());
    for ended in [recorded, replayed] {
        let ended = ended.says(&[&count, "a request that cannot be read: "]);
        for (_, reason) in unreadable_requests() {
            assert!(ended.stderr.contains(reason), "{reason}: {}", ended.stderr);
        }
    }
}

#[test]
fn journal_has_the_path_of_an_unreadable_request_and_the_status_that_it_got() {
    let (scene, upstream) = (Scene::new(), chat_upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&[]);
    let call = with_headers(Call::post(&format!("{CHAT}?api-key=hidden"), "{}"), 120);
    assert_eq!(server.call(&call).status, 431);
    assert_eq!(server.call_outcomes(1), [("refused".to_owned(), "complete".to_owned())]);
    let journal = server.call(&Call::get("/__loomrec/journal")).expect(200).json();
    let line = &journal["calls"][0];
    assert_eq!((&line["method"], &line["path"]), (&json!("POST"), &json!(CHAT)), "{line}");
    assert_eq!((&line["status"], &line["key"]), (&json!(431), &json!(null)), "{line}");
    assert_eq!(line["more"]["error"], "UnreadableRequest", "{line}");
    assert!(!journal.to_string().contains("hidden"), "{journal}");
    server.stop().expect(1);
}

#[test]
fn connections_without_a_whole_head_are_no_calls() {
    let (scene, upstream) = (Scene::new(), chat_upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--strict"]);
    drop(server.connect());
    for begun in ["\r\n\r\n", "POST /openai/v1/chat/completions HTTP/1.1\r\nhost: localh"] {
        let mut client = server.connect();
        client.write(begun);
        client.close_sending();
        client.everything();
        server.connect().write(begun);
    }
    server.call(&Call::get("/__loomrec/health")).expect(200);
    let mut client = server.connect();
    client.exchange(&chat("hi")).expect(200);
    drop(client);
    let ended = server.stop().expect(0).says(&["1 served"]);
    assert!(!ended.stderr.contains("refused"), "{}", ended.stderr);
}

#[test]
fn answer_with_more_than_a_hundred_headers_comes_over_http2() {
    let scene = Scene::new();
    let lines: Vec<String> = (0..300).map(|number| format!("x-meta-{number}: 1")).collect();
    let mut headers = vec!["content-type: application/json"];
    headers.extend(lines.iter().map(String::as_str));
    let upstream = Upstream::always(Answer::whole(200, &headers, chat_answer("hello")));
    let server = scene.record(&upstream, &[]);
    let answer = Http2Client::connect(server.address).call(&chat("hi"));
    assert_eq!((answer.status, answer.text()), (StatusCode::OK, chat_answer("hello")));
    assert_eq!(answer.headers["x-meta-299"], "1");
    server.stop().expect(0).says(&["1 recorded"]);
    let server = scene.replay(&["--strict"]);
    let answer = Http2Client::connect(server.address).call(&chat("hi"));
    assert_eq!(answer.text(), chat_answer("hello"));
    assert_eq!(answer.headers["x-meta-299"], "1");
    server.stop().expect(0);
}

#[test]
fn unreadable_request_over_http2_is_a_refused_call() {
    let (scene, upstream) = (Scene::new(), chat_upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--strict"]);
    let mut client = Http2Client::connect(server.address);
    assert_eq!(client.call(&chat("hi")).status, StatusCode::OK);
    let large = format!("x-large: {}", "a".repeat(600_000));
    for call in [with_headers(chat("hi"), 120), chat("hi").header(&large)] {
        let open = client.start(&call);
        // The answer, or a reset.
        drop(client.finish(open));
    }
    server.stop().expect(1).says(&["1 served", "2 refused", "more than 100 headers"]);
}
