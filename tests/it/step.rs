//! Tests of step ids in a header that the program already sends: `--step-id-header`.

use crate::support::loomrec::command;
use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Server, Upstream, run};

/// Answers with the step in the program's own header.
fn upstream() -> Upstream {
    Upstream::start(|request| {
        Answer::json(200, chat_answer(request.header("x-step").unwrap_or("none")))
    })
}

/// The same call, with a step in the program's own header.
fn step(id: &str) -> Call {
    chat("hi").header(&format!("X-Step: {id}"))
}

fn names(scene: &Scene) -> Vec<String> {
    scene.takes().into_iter().map(|(name, _)| name).collect()
}

fn content_of(server: &Server, call: &Call) -> String {
    let answer = server.call(call).expect(200).json();
    answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

#[test]
fn the_programs_header_names_the_step_and_goes_on_as_it_was_sent() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--step-id-header", "x-step"]);
    server.call(&step("plan")).expect(200);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    let sent = upstream.received().remove(0);
    assert_eq!(sent.header("x-step"), Some("plan"));
    assert_eq!(sent.header("x-loomrec-step-id"), None);
    let takes = scene.takes();
    let (named, hashed) = (&takes[0], &takes[1]);
    assert_eq!(named.0, "plan");
    // It is not part of the request's key.
    assert_eq!(named.1["request_hash"], hashed.1["request_hash"]);
    assert_eq!(hashed.0, hashed.1["request_hash"]);
    assert!(!scene.text().contains("x-step"), "{}", scene.text());
}

#[test]
fn replay_finds_each_step_however_often_the_same_call_is_made() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--step-id-header", "x-step"]);
    for id in ["a", "b"] {
        server.call(&step(id)).expect(200);
    }
    server.stop().expect(0);
    let mut replay = command(scene.dir(), &scene.replay_args(&["--repeat", "last"]));
    replay.args(["--listen", "127.0.0.1:0"]).env("LOOMREC_STEP_ID_HEADER", "X-Step");
    let server = Server::spawn(&mut replay);
    // Over one connection too, where a request is recognised again by its head.
    let mut client = server.connect();
    for id in ["a", "b", "b", "a", "b", "a"] {
        let answer = server.call(&step(id)).expect(200);
        assert_eq!(answer.header("x-loomrec-entry"), Some(id));
        assert_eq!(answer.header("x-loomrec-matched-by"), Some("step_id"));
        assert_eq!(client.exchange(&step(id)).expect(200).header("x-loomrec-entry"), Some(id));
    }
    server.stop().expect(0);
}

#[test]
fn our_own_header_stands_above_the_programs() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--step-id-header", "x-step"]);
    assert_eq!(content_of(&server, &step("theirs").header("x-loomrec-step-id: ours")), "theirs");
    assert_eq!(content_of(&server, &step("alone").header("x-loomrec-step-id:")), "alone");
    server.stop().expect(0);
    assert_eq!(names(&scene), ["ours", "alone"]);
}

#[test]
fn a_header_that_was_not_named_is_only_a_header() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[step("plan")]);
    assert_eq!(names(&scene)[0].len(), 64);
    assert!(scene.only_take().get("step_id").is_none());
}

#[test]
fn a_header_that_says_something_else_is_refused_before_anything_listens() {
    let scene = Scene::new();
    for name in [
        "authorization",
        "X-Api-Key",
        "x-session-token",
        "content-type",
        "anthropic-beta",
        "connection",
        "host",
        "x-loomrec-session",
        "not a name",
    ] {
        for verb in ["record", "replay"] {
            let args = [verb, "-r", "run.json", "--step-id-header", name, "--", "touch", "ran"];
            run(scene.dir(), &args).expect(2).says(&["--step-id-header", name]);
        }
    }
    assert_eq!(scene.names(), [""; 0]);
    // Our own header may be named; it is read anyway.
    let body = chat_body("hi").to_string();
    let upstream = upstream();
    let server = scene.record(&upstream, &["--step-id-header", "x-loomrec-step-id"]);
    server.call(&Call::post(CHAT, body).header("x-loomrec-step-id: plan")).expect(200);
    server.stop().expect(0);
    assert_eq!(names(&scene), ["plan"]);
}
