//! Tests of recordings for each session: `-r 'FOLDER/{session}.json'`.

mod begun;
mod bounds;
mod exclusive;
mod faults;
mod guarded;
mod pending;

use std::fs;

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{CHAT, chat_answer, chat_body};
use crate::support::{Answer, Call, Received, Response, Scene, Server, Upstream};

/// An upstream that repeats the prompt.
fn echo() -> Upstream {
    Upstream::start(|received: &Received| {
        let body: Value = serde_json::from_slice(&received.body).unwrap();
        let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
        Answer::json(200, chat_answer(&format!("re: {prompt}")))
    })
}

/// A call of the session with this prefix.
fn in_session(prefix: &str, prompt: &str) -> Call {
    Call::post(&format!("/@{prefix}{CHAT}"), chat_body(prompt).to_string())
}

/// Returns the text of an answer.
fn said(answer: &Response) -> String {
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

/// Makes a control call, and returns the answer.
#[track_caller]
fn control(server: &Server, path: &str, body: &Value, status: u16) -> Value {
    let call = Call::post(&format!("/__loomrec/{path}"), body.to_string());
    server.call(&call).expect(status).json()
}

/// Begins a session.
#[track_caller]
fn begin(server: &Server, body: &Value) -> Value {
    control(server, "session", body, 201)["session"].clone()
}

/// Ends a session.
#[track_caller]
fn end(server: &Server, prefix: &str, keep: bool) -> Value {
    control(server, "session/end", &json!({ "prefix": prefix, "keep": keep }), 200)
}

/// Returns the entries of a recording.
fn entries(scene: &Scene, name: &str) -> Vec<Value> {
    let text = fs::read(scene.path(name)).unwrap();
    let Value::Object(members) = serde_json::from_slice(&text).unwrap() else { panic!("{name}") };
    let named = members.into_iter().filter(|(name, _)| !name.starts_with('_'));
    named.map(|(_, entry)| entry).collect()
}

/// Returns the names of the files in a folder.
fn files(scene: &Scene, folder: &str) -> Vec<String> {
    let Ok(listed) = fs::read_dir(scene.path(folder)) else { return Vec::new() };
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = listed.map(name).collect();
    let hidden = scene.path(folder).join(".loomrec");
    names.extend(fs::read_dir(hidden).into_iter().flatten().map(name));
    names.retain(|name| name != ".loomrec" && name != ".gitignore");
    names.sort();
    names
}

#[test]
fn each_session_has_a_recording_of_its_own() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    server.call(&in_session("one", "Hello")).expect(200);
    server.call(&in_session("two", "Hello")).expect(200);
    let by_header = Call::post(CHAT, chat_body("By header").to_string());
    server.call(&by_header.header("x-loomrec-session: two")).expect(200);
    server.stop().expect(0).says(&["2 sessions", "3 recorded"]);
    assert_eq!(files(&scene, "recordings"), ["one.json", "two.json"]);
    assert_eq!(entries(&scene, "recordings/one.json").len(), 1);
    assert_eq!(entries(&scene, "recordings/two.json").len(), 2);
    // The session is no part of the recorded call: it replays without one, too.
    assert_eq!(entries(&scene, "recordings/one.json")[0]["session"], Value::Null);
    drop(upstream);
    let server = scene.replay(&["--strict", "--receipt", "receipt.json"]);
    assert_eq!(said(&server.call(&in_session("one", "Hello")).expect(200)), "re: Hello");
    assert_eq!(said(&server.call(&in_session("two", "Hello")).expect(200)), "re: Hello");
    // The take of one session does not answer another, and each is served once.
    server.call(&in_session("one", "Hello")).expect(422);
    server.call(&in_session("one", "By header")).expect(422);
    server.call(&in_session("three", "Hello")).expect(422);
    server.stop().expect(1).says(&["3 sessions, 2 failed", "session one:", "session three:"]);
    let receipt: Value =
        serde_json::from_slice(&fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    assert_eq!((&receipt["served"], &receipt["missed"]), (&json!(2), &json!(3)));
    assert_eq!(receipt["sessions"]["opened"], 3);
    assert_eq!(receipt["sessions"]["failed"], 2);
    assert!(receipt["recorded_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(files(&scene, "recordings"), ["one.json", "two.json"]);
}

#[test]
fn recording_of_a_session_replays_alone() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    server.call(&in_session("one", "Hello")).expect(200);
    server.stop().expect(0);
    let args = ["replay", "--strict", "-r", "recordings/one.json"];
    let server = Server::start(scene.dir(), &args);
    server.call(&Call::post(CHAT, chat_body("Hello").to_string())).expect(200);
    server.stop().expect(0);
}

#[test]
fn call_without_a_session_is_refused() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    let answer = server.call(&Call::post(CHAT, chat_body("Hello").to_string())).expect(400);
    assert!(answer.text().contains("/@NAME/openai/v1"), "{}", answer.text());
    assert_eq!(answer.header("x-loomrec-error"), Some("NoSession"));
    server.stop().expect(1).says(&["calls refused: 1"]);
    assert_eq!(upstream.requests(), 0);
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    for prefix in ["..%2F..%2Fout", "%2Fetc%2Fx", "a%00b"] {
        server.call(&in_session(prefix, "Hello")).expect(400);
    }
    for prefix in ["..", "A", "a"] {
        server.call(&in_session(prefix, "Hello")).expect(200);
    }
    server.stop().expect(1);
    let names = files(&scene, "recordings");
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.contains(&"%2e%2e.json".to_owned()), "{names:?}");
    assert_eq!(scene.names(), ["recordings"]);
}

#[test]
fn flags_that_are_for_one_recording_are_refused() {
    let scene = Scene::of_sessions();
    for (args, said) in [
        (vec!["replay", "-r", "{session}.json", "--pending", "x.pending"], "--pending"),
        (vec!["replay", "-r", "{session}.json", "-r", "b.json"], "stands alone"),
        (vec!["replay", "-r", "{session}/a.json"], "last part"),
        (vec!["record", "-r", "{session}{session}.json"], "once"),
        (vec!["record", "-r", "{session}.json", "--recovery", "max_recovery_ms=1"], "--recovery"),
        (vec!["record", "-r", "{session}.json", "--run", "x"], "--run"),
    ] {
        scene.run(&args).expect(2).says(&[said]);
    }
    assert_eq!(scene.names(), Vec::<String>::new());
}

#[test]
fn command_gets_the_address_and_its_sessions_are_judged() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let url = upstream.url();
    let script = "curl -sSf -H 'content-type: application/json' -d \"$BODY\" \
                  $LOOMREC_URL/@t1/openai/v1/chat/completions";
    let args = |name: &'static str| {
        let mut args = vec![name.to_owned(), "-r".into(), "r/{session}.json".into()];
        if name == "record" {
            args.extend(["--upstream".into(), format!("openai={url}/v1")]);
        }
        args.extend(["--".into(), "sh".into(), "-c".into(), script.into()]);
        args
    };
    let run = |name, body: &Value| {
        let mut process = command(scene.dir(), &args(name));
        finish(process.env("BODY", body.to_string()), b"")
    };
    run("record", &chat_body("Hello")).expect(0).says(&["1 session", "1 recorded"]);
    run("replay", &chat_body("Hello")).expect(0).says(&["1 session", "1 served"]);
    // curl fails with 22.
    run("replay", &chat_body("Other")).expect(22).says(&["1 session, 1 failed"]);
    let idle = ["replay", "-r", "r/{session}.json", "--", "true"];
    scene.run(&idle).expect(1).says(&["no session was opened"]);
}
