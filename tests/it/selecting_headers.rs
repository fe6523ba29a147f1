//! Tests of headers that select an answer by a condition, a version or a format: each is part of a
//! key, and what SDKs report of themselves is not.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, gemini, gemini_answer, message, message_answer};
use crate::support::{Answer, Call, Scene, Upstream};

const RUNS: &str = "/openai/v1/runs";

fn upstream() -> Upstream {
    Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("x")),
        target if target.contains("generateContent") => Answer::json(200, gemini_answer("x")),
        "/v1/runs" => Answer::json(200, "{}"),
        _ => Answer::json(200, chat_answer("x")),
    })
}

fn runs() -> Call {
    Call::get(RUNS)
}

fn embedding() -> Call {
    Call::post("/openai/v1/embeddings", r#"{"model":"m","input":"a"}"#)
}

/// A call, a header of it, and two values that select different answers.
fn selecting() -> Vec<(Call, &'static str, &'static str, &'static str)> {
    let day = ["2026-05-20", "2026-10-21"];
    let mut all = vec![
        (runs(), "last-event-id", "5", "9"),
        (runs(), "if-none-match", "\"x\"", "W/\"y\""),
        (runs(), "if-match", "\"x\"", "*"),
        (runs(), "if-range", "\"x\"", "\"y\""),
        (runs(), "accept", "application/json", "text/event-stream"),
        (runs(), "accept", "text/csv", "application/json"),
        (runs(), "accept", "text/event-stream", "text/event-stream, */*"),
        (embedding(), "accept", "text/csv", "application/json"),
        (chat("hi"), "accept", "text/csv", "application/json"),
        (message("hi"), "accept", "text/csv", "text/event-stream"),
        (gemini("generateContent", "hi"), "api-revision", day[0], day[1]),
    ];
    for name in ["if-modified-since", "if-unmodified-since"] {
        let dates = ["Mon, 02 Nov 2026 10:00:00 GMT", "Tue, 03 Nov 2026 10:00:00 GMT"];
        all.push((runs(), name, dates[0], dates[1]));
    }
    for name in [
        "accept-version",
        "api-revision",
        "mcp-protocol-version",
        "x-api-version",
        "x-github-api-version",
        "x-ms-version",
        "x-unheard-of-revision",
    ] {
        all.push((chat("hi"), name, day[0], day[1]));
        all.push((runs(), name, day[0], day[1]));
    }
    all
}

#[test]
fn header_that_selects_an_answer_decides() {
    let upstream = upstream();
    for (call, name, one, other) in selecting() {
        let with = |value: &str| call.clone().header(&format!("{name}: {value}"));
        let scene = Scene::new();
        scene.recorded(&upstream, &[with(one)]);
        let server = scene.replay(&["--strict"]);
        for refused in [with(other), call.clone()] {
            let text = server.call(&refused).expect(422).text();
            assert!(text.contains(&format!("header {name}")), "{name}: {text}");
        }
        server.call(&with(one)).expect(200);
        server.stop().expect(1);
        let told = scene.run(&["verify", "run.json", "--strict"]).expect(0).stdout;
        assert!(told.contains("ok, 1 call"), "{name}: {told}");
        // And the reverse: recorded without the header, it does not answer a call with it.
        let scene = Scene::new();
        scene.recorded(&upstream, std::slice::from_ref(&call));
        scene.replayed(&["--strict"], &[with(one)], 1).remove(0).expect(422);
    }
}

#[test]
fn header_that_only_reports_the_caller_or_leaves_the_choice_open_decides_nothing() {
    let upstream = upstream();
    let mut all: Vec<(Call, String, String)> = Vec::new();
    for name in [
        "editor-plugin-version",
        "editor-version",
        "version",
        "x-app-version",
        "x-client-version",
        "x-fern-sdk-version",
        "x-portkey-package-version",
        "x-stainless-package-version",
        "x-stainless-runtime-version",
    ] {
        all.push((chat("hi"), format!("{name}: 1.0"), format!("{name}: 2.0")));
        all.push((runs(), format!("{name}: 1.0"), format!("{name}: 2.0")));
    }
    let accept = |value: &str| format!("accept: {value}");
    for (one, other) in [
        ("application/json", "*/*"),
        ("application/json", "application/json, text/plain, */*"),
        ("application/json", "application/json; charset=utf-8"),
    ] {
        all.push((chat("hi"), accept(one), accept(other)));
        all.push((embedding(), accept(one), accept(other)));
        all.push((message("hi"), accept(one), accept(other)));
    }
    all.push((message("hi"), accept("application/json"), accept("text/event-stream")));
    all.push((runs(), accept("*/*"), accept("application/json, text/event-stream")));
    for (call, one, other) in all {
        let scene = Scene::new();
        scene.recorded(&upstream, &[call.clone().header(&one)]);
        let answer = scene.replayed(&["--strict"], &[call.header(&other)], 0).remove(0);
        assert_eq!(answer.status, 200, "{one} {other}: {}", answer.text());
    }
}

/// A recording of a call with a header, as a version made it that did not count the header. `kept`
/// says whether it stored the value.
fn recorded_before(call: &Call, name: &str, value: &str, kept: bool) -> Scene {
    let (scene, plain, upstream) = (Scene::new(), Scene::new(), upstream());
    scene.recorded(&upstream, &[call.clone().header(&format!("{name}: {value}"))]);
    plain.recorded(&upstream, std::slice::from_ref(call));
    let key = plain.takes()[0].0.clone();
    let mut file = scene.json();
    let now = scene.takes()[0].0.clone();
    let mut entry = file.as_object_mut().unwrap().remove(&now).unwrap();
    entry["request_hash"] = json!(key);
    if !kept {
        let headers = entry["request"]["headers"].as_object_mut().unwrap();
        assert_eq!(headers.remove(name), Some(Value::from(value)));
        entry["request"]["other_headers"] = json!(name);
    }
    file[&key] = entry;
    scene.write(format!("{file:#}\n"));
    scene
}

#[test]
fn recording_from_before_matches_by_what_it_keeps() {
    for (call, one, other) in [
        (runs(), "text/csv", "application/json"),
        (runs(), "application/json", "text/csv"),
        (chat("hi"), "text/csv", "application/json"),
    ] {
        let scene = recorded_before(&call, "accept", one, true);
        scene.run(&["verify", "run.json", "--strict"]).expect(0);
        let with = |value: &str| call.clone().header(&format!("accept: {value}"));
        let server = scene.replay(&["--strict"]);
        server.call(&with(other)).expect(422);
        server.call(&with(one)).expect(200);
        server.stop().expect(1);
    }
}

#[test]
fn recording_from_before_matches_where_it_kept_the_name_of_a_header_and_says_so() {
    for (call, name, value) in [
        (runs(), "if-none-match", "\"x\""),
        (gemini("generateContent", "hi"), "api-revision", "2026-05-20"),
        (chat("hi"), "x-github-api-version", "2022-11-28"),
    ] {
        let scene = recorded_before(&call, name, value, false);
        let server = scene.replay(&["--strict"]);
        // A header that the recording does not name still decides.
        server.call(&call.clone().header("last-event-id: 7")).expect(422);
        server.call(&call.clone().header(&format!("{name}: {value}"))).expect(200);
        server.stop().expect(1).says(&[&format!("in force: ignored: header:{name} (")]);
    }
}

#[test]
fn value_that_was_recorded_now_comes_before_one_that_was_not_stored() {
    let call = chat("hi");
    let scene = recorded_before(&call, "api-revision", "2026-05-20", false);
    let with = |value: &str| call.clone().header(&format!("api-revision: {value}"));
    let upstream = Upstream::always(Answer::json(200, chat_answer("new")));
    let server = scene.record(&upstream, &[]);
    server.call(&with("2026-10-21")).expect(200);
    server.stop().expect(0);
    let calls = [with("2026-10-21"), with("2026-05-20")];
    let answers = scene.replayed(&["--strict"], &calls, 0);
    assert!(answers[0].text().contains("new") && !answers[1].text().contains("new"));
}
