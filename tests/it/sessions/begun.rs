//! Sessions that a test framework begins and ends with control calls.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{begin, control, echo, end, entries, files, in_session, said};
use crate::support::loomrec::command;
use crate::support::shape::chat_answer;
use crate::support::{Answer, Call, Received, Scene, Server, Upstream};

/// Records one call in a session of this recording, which is kept.
fn recorded(server: &Server, recording: &str, prompt: &str) {
    begin(server, &json!({ "prefix": "gw0", "recording": recording }));
    server.call(&in_session("gw0", prompt)).expect(200);
    assert_eq!(end(server, "gw0", true)["kept"], true);
}

#[test]
fn what_a_session_recorded_is_kept_or_discarded() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &["--sessions-by-control"]);
    let about =
        begin(&server, &json!({ "prefix": "gw0", "name": "a.py::t", "recording": "t/a.json" }));
    assert_eq!(about["mode"], "record");
    assert_eq!(about["exists"], false);
    assert!(about["url"].as_str().unwrap().ends_with("/@gw0"));
    server.call(&in_session("gw0", "First")).expect(200);
    // Until the session ends, there is no recording.
    assert!(!scene.path("recordings/t/a.json").exists());
    let ended = end(&server, "gw0", true);
    assert_eq!((&ended["kept"], &ended["receipt"]["recorded"]), (&json!(true), &json!(1)));
    assert_eq!(ended["receipt"]["upstream_connections"], 1);
    assert_eq!(ended["calls"].as_array().unwrap().len(), 1);
    assert_eq!(ended["calls"][0]["session"], "a.py::t");
    assert!(ended["summary"].as_str().unwrap().contains("1 recorded"));
    assert_eq!(files(&scene, "recordings/t"), ["a.json"]);
    let before = fs::read(scene.path("recordings/t/a.json")).unwrap();
    begin(&server, &json!({ "prefix": "gw0", "recording": "t/a.json" }));
    server.call(&in_session("gw0", "Second")).expect(200);
    assert_eq!(end(&server, "gw0", false)["kept"], false);
    assert_eq!(fs::read(scene.path("recordings/t/a.json")).unwrap(), before);
    // Recorded anew: nothing of the earlier recording is left.
    recorded(&server, "t/a.json", "Third");
    let takes = entries(&scene, "recordings/t/a.json");
    assert_eq!(takes.len(), 1);
    assert_eq!(takes[0]["content"], "re: Third");
    // A session without a call leaves the recording alone.
    begin(&server, &json!({ "prefix": "gw0", "recording": "t/a.json" }));
    assert_eq!(end(&server, "gw0", true)["kept"], false);
    assert_eq!(entries(&scene, "recordings/t/a.json").len(), 1);
    assert_eq!(files(&scene, "recordings/t"), ["a.json"]);
    server.stop().expect(0).says(&["4 sessions"]);
}

#[test]
fn failed_calls_of_a_session_replace_no_take_that_succeeded() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let session = |upstream: &Upstream, flags: &[&str]| {
        let server = scene.record(upstream, flags);
        begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
        for prompt in ["First", "Second"] {
            server.call(&in_session("gw0", prompt));
        }
        (end(&server, "gw0", true), server.stop().expect(0))
    };
    let statuses = || {
        let takes = entries(&scene, "recordings/a.json");
        takes.iter().map(|take| take["response"]["status"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let error = || Answer::json(429, r#"{"error":{"message":"no","type":"x"}}"#);
    assert_eq!(session(&upstream, &[]).0["kept"], true);
    let before = fs::read(scene.path("recordings/a.json")).unwrap();
    let (ended, run) = session(&Upstream::always(error()), &[]);
    assert_eq!((&ended["kept"], &ended["receipt"]["verdict"]), (&json!(false), &json!("failed")));
    run.says(&["2 calls that failed or were given up did not replace", "--keep-failures"]);
    assert_eq!(fs::read(scene.path("recordings/a.json")).unwrap(), before);
    assert_eq!(files(&scene, "recordings"), ["a.json"]);
    let second =
        Upstream::start(move |received: &Received| match received.text().contains("First") {
            true => Answer::json(200, chat_answer("again")),
            false => error(),
        });
    let (ended, run) = session(&second, &[]);
    assert_eq!(ended["kept"], true);
    run.says(&["1 call that failed or was given up did not replace"]);
    let takes = entries(&scene, "recordings/a.json");
    assert_eq!(
        (&takes[0]["content"], &takes[1]["content"]),
        (&json!("again"), &json!("re: Second"))
    );
    assert_eq!(session(&second, &["--keep-failures"]).0["kept"], true);
    assert_eq!(statuses(), [200, 429]);
    // Failures replace failures.
    assert_eq!(session(&second, &[]).0["kept"], true);
    assert_eq!(statuses(), [200, 429]);
}

#[test]
fn miss_of_a_session_that_was_left_open_fails_the_run() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    recorded(&server, "a.json", "First");
    server.stop().expect(0);
    for flags in [&[][..], &["--strict", "--sessions-by-control"]] {
        let server = scene.replay(flags);
        begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
        server.call(&in_session("gw0", "Other")).expect(422);
        server.stop().expect(1).says(&[
            "session gw0: calls without a recorded answer: 1",
            "session gw0 was not ended",
        ]);
    }
}

#[test]
fn mode_new_replays_what_there_is_and_records_the_rest() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    recorded(&server, "a.json", "First");
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json", "mode": "new" }));
    server.call(&in_session("gw0", "First")).expect(200);
    server.call(&in_session("gw0", "Second")).expect(200);
    let receipt = end(&server, "gw0", true)["receipt"].clone();
    assert_eq!((&receipt["served"], &receipt["recorded"]), (&json!(1), &json!(1)));
    assert_eq!(entries(&scene, "recordings/a.json").len(), 2);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json", "mode": "replay" }));
    server.call(&in_session("gw0", "Second")).expect(200);
    server.call(&in_session("gw0", "Third")).expect(422);
    let receipt = end(&server, "gw0", true)["receipt"].clone();
    assert_eq!((&receipt["unused"], &receipt["missed"]), (&json!(1), &json!(1)));
    assert_eq!(upstream.requests(), 2);
    server.stop().expect(0);
}

#[test]
fn prefix_points_at_one_session_after_the_other_on_one_connection() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    recorded(&server, "a.json", "First");
    recorded(&server, "b.json", "Second");
    server.stop().expect(0);
    let server = scene.replay(&["--sessions-by-control"]);
    let mut client = server.connect();
    for (recording, prompt, other) in [("a.json", "First", "Second"), ("b.json", "Second", "First")]
    {
        begin(&server, &json!({ "prefix": "gw0", "recording": recording }));
        assert_eq!(said(&client.exchange(&in_session("gw0", prompt))), format!("re: {prompt}"));
        assert_eq!(client.exchange(&in_session("gw0", other)).status, 422);
        let ended = end(&server, "gw0", true);
        assert_eq!(ended["receipt"]["served"], 1);
        let missed = &ended["receipt"]["mismatches"][0];
        assert!(missed["message"].as_str().unwrap().contains(other), "{missed}");
        let remedy = missed["remedy"].as_str().unwrap();
        assert!(remedy.contains("record this session again") && !remedy.contains("--pending"));
        let late = client.exchange(&in_session("gw0", prompt));
        assert_eq!(late.status, 400, "{}", late.text());
        assert_eq!(late.header("x-loomrec-error"), Some("NoSession"));
    }
    // Those that are refused count for the run. Missed calls are the framework's to judge.
    server.stop().expect(1).says(&["calls refused: 2"]);
}

#[test]
fn report_of_an_open_session_has_the_calls_so_far() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    for count in 1..4 {
        server.call(&in_session("gw0", &format!("Prompt {count}"))).expect(200);
        let shown = server.call(&Call::get("/__loomrec/session?prefix=gw0")).expect(200).json();
        assert_eq!(shown["calls"].as_array().unwrap().len(), count);
        assert_eq!(shown["receipt"]["recorded"], count);
        assert_eq!(shown.get("kept"), None);
    }
    let all = server.call(&Call::get("/__loomrec/sessions")).expect(200).json();
    assert_eq!(all["version"], 1);
    assert_eq!((&all["open"][0]["prefix"], &all["open"][0]["calls"]), (&json!("gw0"), &json!(3)));
    end(&server, "gw0", true);
    server.call(&Call::get("/__loomrec/session?prefix=gw0")).expect(404);
    server.stop().expect(0);
}

#[test]
fn values_of_a_session_are_bound_and_may_be_added_before_its_first_call() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    let at =
        |folder: &str| json!({ "prefix": "gw0", "recording": "a.json", "vars": { "tmp": folder } });
    begin(&server, &at("/tmp/pytest-1"));
    server.call(&in_session("gw0", "List /tmp/pytest-1/x")).expect(200);
    end(&server, "gw0", true);
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--allow-control"]);
    begin(&server, &at("/tmp/pytest-2"));
    server.call(&in_session("gw0", "List /tmp/pytest-2/x")).expect(200);
    let vars = json!({ "prefix": "gw0", "vars": { "tmp": "/tmp/pytest-3" } });
    control(&server, "session/vars", &vars, 409);
    assert_eq!(end(&server, "gw0", true)["receipt"]["bound"]["calls"], 1);
    control(&server, "session/vars", &vars, 404);
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    control(&server, "session/vars", &vars, 200);
    let answer = server.call(&in_session("gw0", "List /tmp/pytest-3/x")).expect(200);
    assert_eq!(said(&answer), "re: List /tmp/pytest-3/x");
    end(&server, "gw0", true);
    server.stop().expect(0);
}

#[test]
fn requests_that_are_wrong_are_refused_and_open_nothing() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.replay(&["--sessions-by-control"]);
    for (body, status, named) in [
        (json!({}), 400, "prefix"),
        (json!({ "prefix": "gw0", "recording": "../a.json" }), 400, "recording"),
        (json!({ "prefix": "gw0", "recording": "/a.json" }), 400, "recording"),
        (json!({ "prefix": "gw0", "recording": "a.txt" }), 400, "recording"),
        (json!({ "prefix": "gw0", "mode": "record" }), 403, "replay"),
        (json!({ "prefix": "gw0", "fault": "nonsense:1" }), 400, "nonsense"),
        (json!({ "prefix": "gw0", "faults": { "rules": 1 } }), 400, "faults"),
        (json!({ "prefix": "gw0", "vars": { "x": "" } }), 400, "--var x"),
        (json!({ "prefix": "gw0", "normalize": ["x"] }), 400, "normalize"),
    ] {
        let answer = control(&server, "session", &body, status);
        assert!(answer["error"].as_str().unwrap().contains(named), "{body}: {answer}");
    }
    fs::create_dir(scene.path("recordings")).unwrap();
    fs::write(scene.path("recordings/bad.json"), "{ not a recording").unwrap();
    let bad = json!({ "prefix": "gw0", "recording": "bad.json" });
    assert!(control(&server, "session", &bad, 422)["error"].as_str().unwrap().contains("bad.json"));
    let all = server.call(&Call::get("/__loomrec/sessions")).expect(200).json();
    assert_eq!(all["open"], json!([]));
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    let twice = json!({ "prefix": "gw0", "recording": "b.json" });
    assert!(control(&server, "session", &twice, 409)["error"].as_str().unwrap().contains("gw0"));
    server.call(&Call::get("/__loomrec/session/end")).expect(405);
    drop(upstream);
    server.stop().expect(0).says(&["session gw0 was not ended"]);
    // A server with one recording has no sessions.
    let scene = Scene::new();
    let upstream = echo();
    let server = scene.record(&upstream, &[]);
    let answer = control(&server, "session", &json!({ "prefix": "gw0" }), 409);
    assert!(answer["error"].as_str().unwrap().contains("{session}"), "{answer}");
    server.stop().expect(0);
}

#[test]
fn session_that_is_killed_leaves_the_recording_and_its_calls_beside_it() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    recorded(&server, "a.json", "First");
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    server.call(&in_session("gw0", "Second")).expect(200);
    server.process.signal("KILL");
    server.process.wait();
    assert_eq!(entries(&scene, "recordings/a.json")[0]["content"], "re: First");
    // What the program has received can still be read.
    let listed = scene.run(&["ls", "recordings/.loomrec/a.json.unfinished"]).expect(0).stdout;
    assert!(listed.contains("Second"), "{listed}");
    let server = scene.record(&upstream, &[]);
    recorded(&server, "a.json", "Third");
    server.stop().expect(0);
    assert_eq!(entries(&scene, "recordings/a.json")[0]["content"], "re: Third");
    assert_eq!(files(&scene, "recordings"), ["a.json"]);
}

#[test]
fn file_that_is_no_recording_is_never_replaced() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    fs::create_dir(scene.path("recordings")).unwrap();
    for text in [r#"{"name":"app","version":"1.0.0"}"#, r#"{"a":{"b":1}}"#, "{}", "[]", ""] {
        let path = scene.path("recordings/package.json");
        fs::write(&path, text).unwrap();
        for mode in ["record", "new"] {
            let body = json!({ "prefix": "gw0", "recording": "package.json", "mode": mode });
            let answer = control(&server, "session", &body, 422);
            assert!(answer["error"].as_str().unwrap().contains("package.json"), "{answer}");
        }
        // Nor if it appears in the middle of a session.
        fs::remove_file(&path).unwrap();
        begin(&server, &json!({ "prefix": "gw0", "recording": "package.json" }));
        server.call(&in_session("gw0", "Hello")).expect(200);
        fs::write(&path, text).unwrap();
        control(&server, "session/end", &json!({ "prefix": "gw0" }), 422);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(entries(&scene, "recordings/.loomrec/package.json.unfinished").len(), 1);
    }
    server.stop();
}

#[test]
fn address_in_the_environment_of_the_tests_is_the_upstream() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let args = ["record", "-r", "recordings/{session}.json", "--sessions-by-control"];
    let mut process = command(scene.dir(), &args);
    process.args(["--listen", "127.0.0.1:0"]);
    let server = Server::spawn(process.env("OPENAI_BASE_URL", format!("{}/v1", upstream.url())));
    begin(&server, &json!({ "prefix": "gw0", "recording": "a.json" }));
    server.call(&in_session("gw0", "Hello")).expect(200);
    assert_eq!(end(&server, "gw0", true)["kept"], true);
    assert_eq!(upstream.received()[0].target, "/v1/chat/completions");
    server.stop().expect(0);
}

#[test]
fn session_ends_although_its_framework_has_left() {
    let (scene, upstream) = (Scene::of_sessions(), echo());
    let server = scene.record(&upstream, &[]);
    // The fault keeps the session from ending before the framework has left.
    let hang = json!({ "prefix": "gw0", "recording": "a.json", "fault": "answer=hang" });
    begin(&server, &hang);
    server.call(&in_session("gw0", "Hello")).expect(200);
    let mut waiting = server.connect();
    waiting.send(&in_session("gw0", "Wait").header("x-loomrec-step-id: answer"));
    while server.call(&Call::get("/__loomrec/sessions")).json()["open"][0]["calls"] != 2 {}
    let mut framework = server.connect();
    framework.send(&Call::post("/__loomrec/session/end", r#"{"prefix":"gw0","keep":true}"#));
    while server.call(&Call::get("/__loomrec/session?prefix=gw0")).status != 404 {}
    drop(framework);
    let began = Instant::now();
    while !scene.path("recordings/a.json").exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", files(&scene, "recordings"));
    }
    server.stop().expect(0).says(&["1 session"]);
    assert_eq!(entries(&scene, "recordings/a.json").len(), 1);
}

#[test]
fn environment_has_the_prefix() {
    let scene = Scene::of_sessions();
    let server = scene.replay(&[]);
    let variables = |path: &str| -> Value {
        server.call(&Call::get(path)).expect(200).json()["variables"].clone()
    };
    let with = variables("/__loomrec/environment?prefix=gw0");
    assert!(with["OPENAI_BASE_URL"].as_str().unwrap().ends_with("/@gw0/openai/v1"), "{with}");
    assert!(with["OPENAI_API_KEY"].is_string());
    let escaped = variables("/__loomrec/environment?prefix=a%20b");
    assert!(
        escaped["OPENAI_BASE_URL"].as_str().unwrap().ends_with("/@a%20b/openai/v1"),
        "{escaped}"
    );
    let without = variables("/__loomrec/environment");
    assert!(!without["OPENAI_BASE_URL"].as_str().unwrap().contains('@'), "{without}");
    server.stop().expect(0);
}
