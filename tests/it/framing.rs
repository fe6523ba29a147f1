//! Tests of upstreams whose answers are ambiguous or have no end, with and without TLS.

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, End, Response, Route, Scene};

/// What a client gets of an answer after which its upstream closes the connection, and the
/// recording of it.
fn recorded(route: Route, answer: Answer) -> (Scene, Response, String) {
    let scene = Scene::new();
    let upstream = route.always(answer.close());
    let server = upstream.record(&scene, &["--receipt", "receipt.json"]);
    let response = server.call(&chat("hi"));
    // The same connection serves the next call, unless the answer ended it.
    let mut client = server.connect();
    assert!(client.exchange(&crate::support::Call::get("/nowhere")).status == 404);
    let ended = server.stop();
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    (scene, response, ended.stderr)
}

/// An answer with chunked framing and these headers.
fn chunked(headers: &[&str]) -> Answer {
    let body = chat_answer("Hello");
    let headers = [&["content-type: application/json"], headers].concat();
    Answer::head(200, &headers).chunk(&body[..9]).chunk(&body[9..]).end()
}

#[track_caller]
fn is_cut(route: Route, answer: Answer) {
    let (scene, response, _) = recorded(route, answer);
    assert_eq!(response.status, 200, "{route:?}");
    assert_ne!(response.end, End::Complete, "{route:?} {}", response.text());
    assert_eq!(response.header("content-length"), None, "{route:?}");
    let take = scene.only_take();
    assert_eq!(take["response"]["end"], "upstream_abort", "{route:?} {take}");
    let replayed = scene.replayed(&[], &[chat("hi")], 0).remove(0);
    assert_eq!((replayed.status, replayed.body()), (200, response.body()), "{route:?}");
    assert_ne!(replayed.end, End::Complete, "{route:?}");
}

#[track_caller]
fn is_no_answer(route: Route, answer: Answer) {
    let (scene, response, said) = recorded(route, answer);
    assert_eq!(response.status, 502, "{route:?} {}", response.text());
    assert!(!scene.recording().exists(), "{route:?}");
    assert!(said.contains("upstream openai"), "{route:?} {said}");
}

#[test]
fn an_answer_with_a_length_and_a_transfer_encoding_is_recorded_as_cut() {
    let length = format!("content-length: {}", chat_answer("Hello").len());
    for route in Route::DIRECT {
        is_cut(route, chunked(&[&length, "transfer-encoding: chunked"]));
        is_cut(route, chunked(&["transfer-encoding: chunked", "content-length: 5"]));
        is_cut(route, chunked(&["transfer-encoding: gzip, chunked"]));
        is_cut(route, chunked(&["transfer-encoding: chunked", "transfer-encoding: chunked"]));
        let body = chat_answer("Hello");
        let identity = ["transfer-encoding: identity", length.as_str()];
        is_cut(route, Answer::head(200, &identity).bytes(body));
    }
}

#[test]
fn a_run_says_why_answers_were_recorded_as_cut() {
    let (scene, _, said) =
        recorded(Route::Http, chunked(&["content-length: 5", "transfer-encoding: chunked"]));
    assert!(said.contains("both Content-Length and Transfer-Encoding"), "{said}");
    let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
    assert!(receipt.contains("answers of openai that are recorded as cut"), "{receipt}");
}

#[test]
fn an_answer_with_one_way_to_end_is_complete_by_either_way() {
    let body = chat_answer("Hello");
    for route in Route::DIRECT {
        for answer in [
            chunked(&["transfer-encoding: chunked"]),
            Answer::head(200, &[&format!("content-length: {0}, {0}", body.len())]).bytes(&*body),
            Answer::head(200, &[]).bytes(&*body),
        ] {
            let (scene, response, _) = recorded(route, answer);
            assert_eq!((response.status, response.text()), (200, body.clone()), "{route:?}");
            assert_eq!(scene.only_take()["response"]["end"], "complete", "{route:?}");
        }
    }
}

#[test]
fn lengths_that_differ_or_are_none_are_no_answer() {
    let body = chat_answer("Hello");
    for route in Route::DIRECT {
        for lengths in [
            &["content-length: 5", "content-length: 7"][..],
            &["content-length: -5"],
            &["content-length: +5"],
            &["content-length: 5, 7"],
            &["content-length: 0x5"],
            &["content-length: 99999999999999999999"],
        ] {
            is_no_answer(route, Answer::head(200, lengths).bytes(&*body));
        }
    }
}

#[test]
fn a_head_without_end_is_no_answer() {
    for route in Route::DIRECT {
        is_no_answer(route, Answer::raw(format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(8 << 20))));
        is_no_answer(
            route,
            Answer::raw(format!("HTTP/1.1 200 OK\r\n{}", "a: b\r\n".repeat(300_000))),
        );
        is_no_answer(route, Answer::raw("HTTP/1.1 100 Continue\r\n\r\n".repeat(200_000)));
        is_no_answer(
            route,
            Answer::raw("HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n".repeat(1000)),
        );
    }
}

#[test]
fn framing_without_end_is_a_cut() {
    let head = || Answer::head(200, &["transfer-encoding: chunked"]);
    let data = || head().chunk("{}");
    for route in Route::DIRECT {
        is_cut(route, data().bytes(format!("1;{}", "a".repeat(2 << 20))));
        is_cut(route, data().bytes("0".repeat(1 << 20)));
        is_cut(route, data().bytes(format!("0\r\nx: {}", "a".repeat(2 << 20))));
        is_cut(route, data().bytes(format!("0\r\n{}", "a: b\r\n".repeat(300_000))));
        is_cut(route, data().bytes("5\nhello\r\n0\r\n\r\n"));
        is_cut(route, data().bytes("-1\r\nhello\r\n0\r\n\r\n"));
        is_cut(route, data().bytes("fffffffffffffffff\r\nhello"));
    }
}
