//! Tests of `--log`: a line for each call, and no confidential content at any level.

use serde_json::Value;

use crate::support::shape::{chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

fn upstream() -> Upstream {
    Upstream::start(|_| {
        let header = "x-answer: canary-of-an-answer's-header";
        let headers = ["content-type: application/json", header];
        Answer::whole(200, &headers, chat_answer("canary-of-an-answer"))
    })
}

/// A call with confidential content in every place.
fn telltale() -> Call {
    let body = chat_body("canary-of-a-prompt").to_string();
    Call::post("/openai/v1/chat/completions?tag=canary-of-a-query", body)
        .header("authorization: Bearer canary-of-a-key")
        .header("x-custom: canary-of-a-header")
        .header("cookie: canary-of-a-cookie")
        .header("x-loomrec-session: canary-of-a-session")
        .header("x-loomrec-step-id: canary-of-a-step")
}

#[test]
fn nothing_of_bodies_headers_and_queries_is_logged_at_any_level() {
    for format in ["human", "json"] {
        let (scene, upstream) = (Scene::new(), upstream());
        let logged = ["--log", "trace", "--log-format", format];
        let server = scene.record(&upstream, &logged);
        server.call(&telltale()).expect(200);
        server.call(&Call::get("/__loomrec/health").header("host: localhost")).expect(200);
        let recorded = server.stop().expect(0);
        let server = scene.replay(&logged);
        server.call(&telltale().header("x-loomrec-fault: http_error:503")).expect(503);
        server.call(&telltale().header("x-loomrec-fault: slow:1")).expect(200);
        server.call(&telltale()).expect(422);
        let replayed = server.stop();
        for said in [&recorded.stderr, &replayed.stderr] {
            assert!(
                said.contains("loomrec::call") && said.contains("loomrec::connection"),
                "{said}"
            );
            // Output other than the log: a miss names its step, as always.
            let log: Vec<&str> = said.lines().filter(|line| line.contains("loomrec::")).collect();
            let log = log.join("\n");
            assert!(!log.contains("canary"), "{log}");
        }
        assert!(replayed.stderr.contains("loomrec::fault"), "{}", replayed.stderr);
    }
}

#[test]
fn each_call_has_a_line_at_info_and_none_when_no_log_is_asked_for() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--log", "info", "--log-format", "json"]);
    (0..3).for_each(|_| drop(server.call(&chat("hi")).expect(200)));
    let said = server.stop().expect(0).stderr;
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls = lines.iter().filter(|line| line["target"] == "loomrec::call");
    let calls: Vec<&Value> = calls.collect();
    assert_eq!(calls.len(), 3, "{said}");
    for (field, value) in [
        ("level", Value::from("info")),
        ("outcome", "recorded".into()),
        ("status", 200.into()),
        ("upstream", "openai".into()),
        ("model", "gpt-4o-mini".into()),
        ("input_tokens", 9.into()),
        ("end", "complete".into()),
    ] {
        assert_eq!(calls[0][field], value, "{field} in {}", calls[0]);
    }
    let server = scene.replay(&[]);
    server.call(&chat("hi")).expect(200);
    let said = server.stop().expect(0).stderr;
    assert!(!said.contains("loomrec::"), "{said}");
}

#[test]
fn each_call_has_one_line_when_it_is_asked_for_in_two_ways() {
    for (asked, logged) in [
        (&["-v"][..], false),
        (&["-v", "--log", "info"], true),
        (&["-v", "--log", "loomrec::call=debug"], true),
        (&["-v", "--log", "loomrec::fault=debug"], false),
        (&["-v", "--log", "warn"], false),
    ] {
        let (scene, upstream) = (Scene::new(), upstream());
        let server = scene.record(&upstream, asked);
        (0..2).for_each(|_| drop(server.call(&chat("hi")).expect(200)));
        let said = server.stop().expect(0).stderr;
        let lines = said.lines().filter(|line| line.contains("/v1/chat/completions"));
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), 2, "{asked:?}: {said}");
        assert!(lines.iter().all(|line| line.contains("loomrec::call") == logged), "{said}");
    }
}

#[test]
fn name_that_acts_on_a_terminal_is_escaped_when_calls_are_told() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["-v"]);
    let body = r#"{"model":"\u001b[2Jx\u202e","messages":[{"role":"user","content":"hi"}]}"#;
    server.call(&Call::post("/openai/v1/chat/completions", body)).expect(200);
    let said = server.stop().expect(0).stderr;
    let line = said.lines().find(|line| line.contains("/v1/chat/completions")).unwrap();
    assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
}

#[test]
fn name_that_acts_on_a_terminal_is_escaped_in_the_log() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--log", "loomrec::call=info"]);
    let body = r#"{"model":"\u001b[2Jx\ny\u202e","messages":[{"role":"user","content":"hi"}]}"#;
    server.call(&Call::post("/openai/v1/chat/completions", body)).expect(200);
    let said = server.stop().expect(0).stderr;
    let line = said.lines().find(|line| line.contains("loomrec::call")).unwrap();
    assert!(line.contains("end=") && !line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
}

#[test]
fn filter_that_is_none_is_refused() {
    let scene = Scene::new();
    let run = scene.run(&["record", "-r", "x.json", "--log", "loomrec=loud"]).expect(2);
    run.says(&["--log loomrec=loud", "it takes a level"]);
}
