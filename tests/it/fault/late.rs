//! Tests of answers that a fault only delays, and of clients that do not wait for them.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stage::Stage;
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, End, Scene, Server, Upstream};

/// Longer than anything takes here that is not delayed.
const LONG: Duration = Duration::from_secs(5);
/// How long a client waits before it leaves.
const A_WHILE: Duration = Duration::from_millis(150);

fn upstream() -> Upstream {
    Upstream::start(|request| match request.text().contains("stream") {
        false => Answer::json(200, chat_answer("Hello")),
        true => {
            let head = Answer::head(
                200,
                &["content-type: text/event-stream", "transfer-encoding: chunked"],
            );
            chat_events(&["a", "b"]).iter().fold(head, Answer::chunk).end()
        }
    })
}

fn recorded(calls: &[Call]) -> Scene {
    let scene = Scene::new();
    scene.recorded(&upstream(), calls);
    scene
}

fn planned(scene: &Scene, rules: &Value) -> [&'static str; 2] {
    std::fs::write(scene.path("plan.json"), json!({ "rules": rules }).to_string()).unwrap();
    ["--faults", "plan.json"]
}

/// Makes a call and leaves after a while.
fn give_up(stage: &Stage, call: &Call) {
    let mut client = stage.server.connect();
    client.send(call);
    std::thread::sleep(A_WHILE);
    drop(client);
    stage.journal_with(|line| line["outcome"] == "given_up");
}

#[test]
fn a_client_that_does_not_wait_for_a_late_answer_has_not_used_up_its_take() {
    for fault in
        ["slow:60000", "throttle:10", "slice:9;delay_ms=60000", "stream_stall;for_ms=60000"]
    {
        for call in [chat("one"), chat_streamed("one")] {
            let scene = recorded(std::slice::from_ref(&call));
            let plan = planned(&scene, &json!([{ "match": { "attempt": 1 }, "fault": fault }]));
            let stage = Stage::of(scene, &[&plan[..], &["--fail-unused"]].concat());
            give_up(&stage, &call);
            let began = Instant::now();
            let answer = stage.call(&call).expect(200);
            assert_eq!(answer.end, End::Complete, "{fault}");
            assert!(began.elapsed() < LONG, "{fault}: the second try was late as well");
            let over = stage.end(0);
            assert_eq!(over.receipt["faults"]["fired"], 1, "{fault}");
            assert_eq!(over.receipt["missed"], 0, "{fault}");
        }
    }
}

#[test]
fn a_late_answer_that_the_client_waits_for_uses_up_its_take() {
    for fault in ["slow:5", "throttle:100000", "slice:9", "stream_stall;for_ms=5"] {
        for call in [chat("one"), chat_streamed("one")] {
            let scene = recorded(&[call.clone(), call.clone()]);
            let plan = planned(&scene, &json!([{ "match": { "attempt": 1 }, "fault": fault }]));
            let stage = Stage::of(scene, &[&plan[..], &["--fail-unused"]].concat());
            for _ in 0..2 {
                assert_eq!(stage.call(&call).expect(200).end, End::Complete, "{fault}");
            }
            stage.call(&call).expect(422);
            let over = stage.end(1);
            // The third call has no answer that could be delayed, except by `slow`.
            let fired = if fault.starts_with("slow") { 3 } else { 2 };
            assert_eq!(over.receipt["faults"]["fired"], fired, "{fault}");
        }
    }
}

#[test]
fn a_call_that_was_given_up_is_in_the_journal_and_counts_in_the_score() {
    let scene = recorded(&[chat("one")]);
    let plan = planned(&scene, &json!([{ "match": { "attempt": 1 }, "fault": "slow:60000" }]));
    let recovery = ["--recovery", "max_detection_ms=5000,max_recovery_ms=5000"];
    let stage = Stage::of(scene, &[&plan[..], &recovery[..]].concat());
    give_up(&stage, &chat("one"));
    let noted = |line: &Value| line["outcome"] == "faulted" && line["fault"]["type"] == "slow";
    stage.journal_with(noted);
    // The call is never repeated, so the program has not recovered.
    let over = stage.end(1);
    let total = &over.receipt["recovery"]["total"];
    let counts = ["faults", "detected", "recovered"].map(|name| &total[name]);
    assert_eq!(counts, [&json!(1), &json!(1), &json!(0)], "{}", over.receipt);
}

#[test]
fn a_late_answer_that_is_no_good_one_is_nothing_to_recover_from() {
    let scene = Scene::new();
    let down = Upstream::always(Answer::json(500, r#"{"error":{"message":"down"}}"#));
    scene.recorded(&down, &[chat("one")]);
    let recovery = ["--fault", "slow:5", "--recovery", "max_detection_ms=5000,max_recovery_ms=5"];
    let stage = Stage::of(scene, &recovery);
    stage.call(&chat("one")).expect(500);
    // A budget that no fault tested is not kept.
    let over = stage.end(1);
    assert_eq!(over.receipt["recovery"]["total"]["faults"], 0, "{}", over.receipt);
}

#[test]
fn a_client_that_leaves_a_slow_live_call_does_not_lose_its_recording() {
    let (upstream, mut calls) = (upstream(), 0);
    for fault in
        ["slow:60000", "throttle:10", "slice:9;delay_ms=60000", "stream_stall;for_ms=60000"]
    {
        for call in [chat("one"), chat_streamed("one")] {
            let stage = Stage::record(&upstream, &["--fault", fault]);
            let mut client = stage.server.connect();
            client.send(&call);
            calls += 1;
            upstream.wait_for(calls);
            std::thread::sleep(A_WHILE);
            drop(client);
            let Stage { scene, server } = stage;
            server.stop().expect(0);
            assert_eq!(scene.only_take()["response"]["end"], "complete", "{fault}");
        }
    }
}

#[test]
fn a_live_call_is_late_no_longer_than_was_asked() {
    let upstream = upstream();
    let stage = Stage::record(&upstream, &["--fault", "slow:400"]);
    let began = Instant::now();
    stage.call(&chat("one")).expect(200);
    let took = began.elapsed();
    assert!((Duration::from_millis(400)..LONG).contains(&took), "{took:?}");
    stage.server.stop().expect(0);
}

#[test]
fn a_slow_answer_is_later_than_its_pace_would_have_it() {
    let scene = recorded(&[chat("one")]);
    let stage = Stage::of(scene, &["--latency", "constant:500", "--fault", "slow:400"]);
    let began = Instant::now();
    stage.call(&chat("one")).expect(200);
    let took = began.elapsed();
    assert!((Duration::from_millis(900)..LONG).contains(&took), "{took:?}");
    stage.end(0);
}

#[test]
fn late_answers_do_not_hold_up_the_end_of_the_run() {
    for fault in
        ["slow:60000", "throttle:10", "slice:9;delay_ms=60000", "stream_stall;for_ms=60000"]
    {
        let scene = recorded(&[chat_streamed("one")]);
        let stage = Stage::of(scene, &["--fault", fault]);
        let mut client = stage.server.connect();
        client.send(&chat_streamed("one"));
        std::thread::sleep(A_WHILE);
        let began = Instant::now();
        stage.end(0);
        assert!(began.elapsed() < LONG, "{fault}: {:?}", began.elapsed());
    }
}

#[test]
fn a_fault_does_not_use_up_the_scripts_call_behind_it() {
    let script = json!([[{ "text": "One two three." }], [{ "text": "Four." }]]).to_string();
    let faults =
        ["stream_truncate", "http_error:500", "malformed", "slow:60000", "slice:1;delay_ms=60000"];
    for fault in faults {
        let scene = Scene::new();
        std::fs::write(scene.path("script.json"), &script).unwrap();
        planned(&scene, &json!([{ "match": { "call": 1 }, "fault": fault }]));
        let args = ["replay", "--script", "script.json", "--faults", "plan.json", "--fail-unused"];
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let server = Server::start(scene.dir(), &args);
        let stage = Stage { scene, server };
        let mut client = stage.server.connect();
        client.send(&chat_streamed("any"));
        if fault.contains("60000") {
            std::thread::sleep(A_WHILE);
        } else {
            drop(client.answer());
        }
        drop(client);
        // Its status is known when it is over.
        stage.journal_with(|line| line["status"].is_number());
        for text in ["One two three.", "Four."] {
            let answer = stage.call(&chat("any")).expect(200);
            assert!(answer.text().contains(text), "{fault}: {}", answer.text());
        }
        stage.server.stop().expect(0);
    }
}

#[test]
fn a_fault_that_could_not_happen_uses_up_the_scripts_call() {
    let scene = Scene::new();
    let script = json!([[{ "text": "One." }], [{ "text": "Two." }]]).to_string();
    std::fs::write(scene.path("script.json"), script).unwrap();
    let args =
        ["replay", "--script", "script.json", "--fault", "tool_call_fault", "--allow-unfired"];
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let server = Server::start(scene.dir(), &args);
    for text in ["One.", "Two."] {
        let answer = server.call(&chat("any")).expect(200);
        assert!(answer.text().contains(text), "{}", answer.text());
    }
    server.stop().expect(0);
}
