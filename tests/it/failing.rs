//! Tests of recording again while the upstream fails: good takes are kept.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Scene, Upstream};

fn good() -> Answer {
    Answer::json(200, chat_answer("good"))
}

/// A recording of one call with this answer.
fn recorded(call: &Call, answer: Answer) -> (Scene, String) {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(answer), std::slice::from_ref(call));
    let text = scene.text();
    (scene, text)
}

#[test]
fn recording_again_while_the_upstream_fails_leaves_the_good_take_and_is_not_ok() {
    for status in [400, 401, 403, 429, 500, 503] {
        let (scene, before) = recorded(&chat("hi"), good());
        let upstream = Upstream::always(Answer::json(status, "{\"error\":{\"message\":\"no\"}}"));
        let server = scene.record(&upstream, &["--receipt", "receipt.json"]);
        assert_eq!(server.call(&chat("hi")).status, status);
        let ended = server.stop().expect(1);
        assert_eq!(scene.text(), before, "{status}");
        let told = format!("1 recorded, 1 of them answered {status}");
        for told in [
            told.as_str(),
            "every call failed",
            "1 call that failed or was given up did not replace what run.json holds",
        ] {
            assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
        }
        let receipt: Value =
            serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
        assert_eq!(receipt["verdict"], "failed");
        assert_eq!(receipt["failed_calls"], json!({ status.to_string(): 1 }));
        let answers = scene.replayed(&["--strict"], &[chat("hi")], 0);
        assert_eq!(answers[0].status, 200);
    }
}

#[test]
fn recording_again_a_stream_that_is_cut_leaves_the_good_take() {
    let (scene, before) =
        recorded(&chat_streamed("hi"), Answer::events(&chat_events(&["Hel", "lo."])));
    let upstream = Upstream::always(Answer::stream().chunk("data: {}\n\n").reset());
    let server = scene.record(&upstream, &[]);
    server.call(&chat_streamed("hi"));
    let ended = server.stop().expect(1);
    assert_eq!(scene.text(), before);
    assert!(ended.stderr.contains("1 recorded, 1 of them cut"), "{}", ended.stderr);
}

#[test]
fn answer_that_ends_before_its_length_leaves_the_good_take() {
    let (scene, before) = recorded(&chat("hi"), good());
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{";
    let upstream = Upstream::always(Answer::raw(cut).close());
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi"));
    let ended = server.stop().expect(1);
    assert_eq!(scene.text(), before);
    for told in ["1 recorded, 1 of them cut", "every call failed", "did not replace"] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
}

#[test]
fn failure_replaces_a_good_take_when_that_is_asked() {
    let (scene, _) = recorded(&chat("hi"), good());
    let upstream = Upstream::always(Answer::json(401, "{}"));
    let server = scene.record(&upstream, &["--keep-failures"]);
    server.call(&chat("hi")).expect(401);
    server.stop().expect(0);
    assert_eq!(scene.only_take()["response"]["status"], 401);
}

#[test]
fn failing_takes_are_recorded_where_no_call_ever_succeeded() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(401, "{}"));
    for _ in 0..2 {
        let server = scene.record(&upstream, &[]);
        server.call(&chat("hi")).expect(401);
        server.stop().expect(1);
        assert_eq!(scene.only_take()["response"]["status"], 401);
    }
    let answers = scene.replayed(&["--strict"], &[chat("hi")], 0);
    assert_eq!(answers[0].status, 401);
}

#[test]
fn failure_and_its_retry_replace_one_good_take() {
    for earlier in [1, 2] {
        let scene = Scene::new();
        scene.recorded(&Upstream::always(good()), &vec![chat("hi"); earlier]);
        let retried = vec![Answer::json(500, "{}"), Answer::json(200, chat_answer("retried"))];
        let upstream = Upstream::script(retried);
        let server = scene.record(&upstream, &[]);
        server.call(&chat("hi")).expect(500);
        server.call(&chat("hi")).expect(200);
        server.stop().expect(0);
        let statuses: Vec<Value> =
            scene.takes().iter().map(|(_, take)| take["response"]["status"].clone()).collect();
        let mut expected = vec![json!(500), json!(200)];
        expected.resize(earlier + 1, json!(200));
        assert_eq!(statuses, expected);
    }
}

#[test]
fn run_in_which_one_call_failed_says_so_and_is_ok() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text().contains("fail") {
        true => Answer::json(429, "{}"),
        false => Answer::json(200, chat_answer("good")),
    });
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    server.call(&chat("fail")).expect(429);
    let ended = server.stop().expect(0);
    assert!(ended.stderr.contains("2 recorded, 1 of them answered 429"), "{}", ended.stderr);
}

#[test]
fn a_run_whose_every_call_was_refused_is_not_ok() {
    let upstream = Upstream::always(good());
    for (more, call) in [
        (&[][..], Call::post("/nowhere/x", "{}")),
        (&["--max-body", "10"], Call::post("/openai/v1/chat/completions", "{}".repeat(20))),
    ] {
        let scene = Scene::new();
        let server = scene.record(&upstream, &[more, &["--receipt", "receipt.json"]].concat());
        assert!(matches!(server.call(&call).status, 404 | 413));
        let ended = server.stop().expect(1);
        for told in ["record: failed", "nothing was recorded, since calls were refused: 1"] {
            assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
        }
        // A refused call besides one that was recorded is only reported.
        let server = scene.record(&upstream, &[more, &["--receipt", "receipt.json"]].concat());
        server.call(&call);
        if more.is_empty() {
            server.call(&chat("hi")).expect(200);
            server.stop().expect(0);
        }
    }
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn a_run_that_recorded_no_answer_whole_is_not_ok() {
    let long = Answer::json(200, chat_answer(&"long ".repeat(1000)));
    let (scene, upstream) = (Scene::new(), Upstream::always(long));
    let server = scene.record(&upstream, &["--max-body", "1000", "--receipt", "receipt.json"]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(1);
    for told in ["1 recorded · 1 recorded incomplete", "every call failed"] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    assert_eq!(receipt["failed_calls"], json!({"incomplete": 1}));
    let server = scene.record(&upstream, &["--max-body", "1000", "--keep-failures"]);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
}
