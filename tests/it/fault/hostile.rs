//! Tests of what an attacker would try to make faults report something false.

use serde_json::json;

use super::stage::Stage;
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, End, Scene, Upstream};

fn recorded(prompts: &[&str]) -> Scene {
    let scene = Scene::new();
    let calls: Vec<_> = prompts.iter().map(|prompt| chat(prompt)).collect();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("Hello"))), &calls);
    scene
}

/// The statuses of calls, every other one with chaos, with or without a fault of another call
/// before them.
fn chaos_statuses(noise: bool) -> Vec<u16> {
    let stage = Stage::of(recorded(&["one", "other"]), &["--repeat", "last"]);
    if noise {
        stage.call(&chat("other").header("x-loomrec-fault: http_error:503")).expect(503);
    }
    let plain = chat("one");
    let calls = (0..24).map(|n| match n % 2 {
        0 => plain.clone(),
        _ => plain.clone().header("x-loomrec-chaos-drop: 0.5"),
    });
    let statuses = calls.map(|call| stage.call(&call).status).collect();
    stage.end(0);
    statuses
}

#[test]
fn what_headers_leave_to_chance_does_not_hang_on_the_faults_of_other_calls() {
    let alone = chaos_statuses(false);
    assert!(alone.contains(&500) && alone.contains(&200), "{alone:?}");
    assert_eq!(chaos_statuses(true), alone);
}

#[test]
fn a_program_that_meets_faults_of_connections_only_has_been_tested() {
    let scene = recorded(&["one"]);
    let rules = json!([{ "match": { "connection": [1] }, "fault": "connection_reset" }]);
    std::fs::write(scene.path("plan.json"), json!({ "rules": rules }).to_string()).unwrap();
    let script = "exec 3<>\"/dev/tcp/${LOOMREC_URL#http://127.0.0.1:}\" 2>/dev/null; \
                  cat <&3 >/dev/null 2>&1; true";
    let script = script.replace("/dev/tcp/", "/dev/tcp/127.0.0.1/");
    let args = ["replay", "-r", "run.json", "--faults", "plan.json", "--", "bash", "-c", &script];
    let finished = scene.run(&args).expect(0);
    assert!(!finished.stderr.contains("nothing was tested"), "{}", finished.stderr);
}

#[test]
fn a_rule_that_would_never_come_is_refused_with_its_file() {
    let scene = recorded(&["one"]);
    for (when, what) in [
        (json!({ "upstream": "opneai" }), "there is no upstream \"opneai\""),
        (json!({ "request_hash": "00000000" }), "no recorded call has a request_hash"),
    ] {
        let rules = json!([{ "name": "odd", "match": when, "fault": "drop" }]);
        std::fs::write(scene.path("odd.json"), json!({ "rules": rules }).to_string()).unwrap();
        std::fs::write(scene.path("other.json"), r#"{ "rules": [{ "fault": "hang" }] }"#).unwrap();
        let args = ["--faults", "other.json", "--faults", "odd.json", "--", "true"];
        let finished = scene.run(&[&["replay", "-r", "run.json"], &args[..]].concat()).expect(2);
        let said = format!("the plan odd.json: rule \"odd\" would never apply: {what}");
        assert!(finished.stderr.contains(&said), "{}", finished.stderr);
    }
}

/// Streams that an upstream cuts: at once, in the middle, or with a reset.
#[test]
fn an_answer_that_was_cut_before_it_could_be_rewritten_goes_on_as_it_was_cut() {
    let head = || {
        let media = "content-type: text/event-stream";
        Answer::head(200, &[media, "transfer-encoding: chunked"])
    };
    let events = chat_events(&["a", "b"]);
    let pause = 30;
    for (answer, end) in [
        (head().close(), End::Closed),
        (head().chunk(&events[0]).close(), End::Closed),
        (head().pause(pause).chunk(&events[0]).pause(pause).close(), End::Closed),
        (head().chunk(&events[0]).pause(pause).reset(), End::Reset),
    ] {
        let upstream = Upstream::always(answer);
        let more = ["--fault", "partial_response", "--allow-unfired"];
        let stage = Stage::record(&upstream, &more);
        let mut client = stage.server.connect();
        client.send(&chat_streamed("one"));
        match client.answer() {
            Ok(answer) => assert_eq!(answer.end, end),
            Err(ended) => assert_eq!(ended, end),
        }
        // The only call was answered by a cut stream, so the recording is not good.
        let over = stage.end(1);
        assert!(over.warnings().contains("the answer was cut"), "{}", over.warnings());
    }
}

#[test]
fn an_answer_too_large_to_be_rewritten_goes_on_whole() {
    const SIZE: usize = 70 << 20;
    let body = vec![b'x'; SIZE];
    let media = ["content-type: application/json", "transfer-encoding: chunked"];
    let answer = body.chunks(1 << 20).fold(Answer::head(200, &media), Answer::chunk).end();
    let upstream = Upstream::always(answer);
    let stage = Stage::record(&upstream, &["--fault", "partial_response", "--allow-unfired"]);
    let answer = stage.call(&chat("one")).expect(200);
    assert_eq!((answer.end, answer.body().len()), (End::Complete, SIZE));
    assert!(answer.body() == body, "another body");
    // The only answer is not recorded in full.
    let over = stage.end(1);
    assert!(over.warnings().contains("larger than 64 MiB"), "{}", over.warnings());
}
