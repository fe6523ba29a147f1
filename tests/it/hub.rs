//! Tests of a hub: sessions that share the recording of a replay.

mod access;
mod counts;
mod drain;
mod expiry;
mod reload;

use std::fs;

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Received, Response, Scene, Server, Upstream};

/// A scene whose recording answers `One` and `Two`, and `Twice` with two takes.
fn recorded() -> Scene {
    let scene = Scene::new();
    scene.recorded(&echo(), &["One", "Two", "Twice", "Twice"].map(chat));
    scene
}

/// An upstream that repeats the prompt, with the number of the request.
fn echo() -> Upstream {
    Upstream::start(|received: &Received| {
        let body: Value = serde_json::from_slice(&received.body).unwrap();
        let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
        Answer::json(200, chat_answer(&format!("re: {prompt}")))
    })
}

fn in_session(prefix: &str, prompt: &str) -> Call {
    Call::post(&format!("/@{prefix}{CHAT}"), chat_body(prompt).to_string())
}

#[track_caller]
fn control(server: &Server, path: &str, body: &Value, status: u16) -> Value {
    server.call(&Call::post(path, body.to_string())).expect(status).json()
}

#[track_caller]
fn begin(server: &Server, prefix: &str) -> Value {
    control(server, "/__loomrec/session", &json!({ "prefix": prefix }), 201)["session"].clone()
}

#[track_caller]
fn end(server: &Server, prefix: &str) -> Value {
    control(server, "/__loomrec/session/end", &json!({ "prefix": prefix }), 200)
}

fn receipt(scene: &Scene) -> Value {
    serde_json::from_slice(&fs::read(scene.path("receipt.json")).unwrap()).unwrap()
}

#[track_caller]
fn kind(answer: &Response) -> &str {
    answer.header("x-loomrec-error").unwrap_or_default()
}

#[test]
fn each_session_gets_every_take_and_has_a_receipt_of_its_own() {
    let scene = recorded();
    let server = scene.replay(&["--receipt", "receipt.json", "--fail-unused"]);
    for prefix in ["gw0", "gw1"] {
        let about = begin(&server, prefix);
        assert_eq!((&about["mode"], &about["exists"]), (&json!("replay"), &json!(true)));
        assert!(about["url"].as_str().unwrap().ends_with(&format!("/@{prefix}")), "{about}");
    }
    for prefix in ["gw0", "gw1"] {
        for prompt in ["One", "Twice", "Twice"] {
            server.call(&in_session(prefix, prompt)).expect(200);
        }
    }
    // Used up in this session; the other has ended its calls.
    assert_eq!(server.call(&in_session("gw1", "Twice")).expect(422).status, 422);
    server.call(&in_session("gw0", "Two")).expect(200);
    let good = end(&server, "gw0");
    assert_eq!(good["receipt"]["verdict"], "ok", "{good}");
    assert_eq!((&good["receipt"]["served"], &good["receipt"]["unused"]), (&json!(4), &json!(0)));
    assert_eq!((&good["receipt"]["missed"], &good["kept"]), (&json!(0), &json!(false)));
    assert_eq!(good["calls"].as_array().unwrap().len(), 4);
    assert!(good["receipt"]["recordings"][0]["sha256"].is_string());
    let bad = end(&server, "gw1");
    assert_eq!(bad["receipt"]["verdict"], "failed");
    assert_eq!((&bad["receipt"]["missed"], &bad["receipt"]["unused"]), (&json!(1), &json!(1)));
    assert_eq!(bad["receipt"]["mismatches"].as_array().unwrap().len(), 1);
    let metrics = server.call(&Call::get("/metrics")).expect(200).text();
    assert!(metrics.contains(r#"loomrec_mismatches_total{reason="exhausted"} 1"#), "{metrics}");
    // A call outside of sessions is one of the run, and its takes are unused.
    server.call(&chat("One")).expect(200);
    server.stop().expect(0).says(&["2 sessions (7 served, 1 missed)", "1 served", "0 missed"]);
    let run = receipt(&scene);
    assert_eq!((&run["verdict"], &run["missed"]), (&json!("ok"), &json!(0)));
    assert_eq!((&run["served"], &run["unused"]), (&json!(1), &json!(0)));
    let sessions = &run["sessions"];
    assert_eq!((&sessions["opened"], &sessions["ended"]), (&json!(2), &json!(2)));
    // The framework has judged it.
    assert_eq!(
        (&sessions["failed"], &sessions["listed"][1]["verdict"]),
        (&json!(0), &json!("failed"))
    );
    assert_eq!((&sessions["served"], &sessions["missed"]), (&json!(7), &json!(1)));
}

#[test]
fn session_that_has_ended_cannot_be_ended_again_and_begins_anew() {
    let scene = recorded();
    let server = scene.replay(&[]);
    begin(&server, "gw0");
    let twice = json!({ "prefix": "gw0" });
    let open = control(&server, "/__loomrec/session", &twice, 409);
    assert!(open["error"].as_str().unwrap().contains("still open"), "{open}");
    server.call(&in_session("gw0", "One")).expect(200);
    end(&server, "gw0");
    control(&server, "/__loomrec/session/end", &twice, 404);
    // Two sessions may have one name: the prefix tells them apart.
    for prefix in ["gw0", "gw1"] {
        let body = json!({ "prefix": prefix, "name": "test_one" });
        control(&server, "/__loomrec/session", &body, 201);
        server.call(&in_session(prefix, "One")).expect(200);
    }
    let shown = server.call(&Call::get("/__loomrec/sessions")).expect(200).json();
    assert_eq!(shown["open"].as_array().unwrap().len(), 2);
    for prefix in ["gw0", "gw1"] {
        assert_eq!(end(&server, prefix)["receipt"]["served"], 1);
    }
    server.stop().expect(0).says(&["3 sessions"]);
}

#[test]
fn prefix_that_no_control_call_began_is_answered_by_the_run() {
    let scene = recorded();
    let server = scene.replay(&["--receipt", "receipt.json"]);
    server.call(&in_session("other", "One")).expect(200);
    begin(&server, "gw0");
    server.call(&in_session("other", "Two")).expect(200);
    server.call(&in_session("a%0Ab", "Two")).expect(200);
    server.call(&in_session("other", "Two")).expect(422);
    server.call(&chat("Two").header("x-loomrec-session: gw0")).expect(200);
    assert_eq!(end(&server, "gw0")["receipt"]["served"], 1);
    server.stop().expect(1);
    assert_eq!((&receipt(&scene)["served"], &receipt(&scene)["missed"]), (&json!(3), &json!(1)));
}

#[test]
fn control_calls_below_the_prefix_name_it() {
    let scene = recorded();
    let server = scene.replay(&["--sessions-by-control"]);
    let about = control(&server, "/@gw0/__loomrec/session", &json!({ "name": "t" }), 201);
    assert_eq!(
        (&about["session"]["prefix"], &about["session"]["name"]),
        (&json!("gw0"), &json!("t"))
    );
    let same = json!({ "prefix": "gw0" });
    control(&server, "/@gw0/__loomrec/session", &same, 409);
    let other = control(&server, "/@gw0/__loomrec/session", &json!({ "prefix": "gw1" }), 400);
    assert!(other["error"].as_str().unwrap().starts_with("prefix:"), "{other}");
    server.call(&in_session("gw0", "One")).expect(200);
    let shown = server.call(&Call::get("/@gw0/__loomrec/session")).expect(200).json();
    assert_eq!(shown["receipt"]["served"], 1);
    server.call(&Call::get("/@gw0/__loomrec/session?prefix=gw1")).expect(400);
    let of_prefix = server.call(&Call::get("/@gw0/__loomrec/environment")).expect(200).json();
    let url = of_prefix["variables"]["OPENAI_BASE_URL"].as_str().unwrap().to_owned();
    assert!(url.ends_with("/@gw0/openai/v1"), "{url}");
    let mismatches = server.call(&Call::get("/@gw0/__loomrec/mismatches")).expect(200).json();
    assert_eq!(mismatches["mismatches"], json!([]));
    control(&server, "/@gw0/__loomrec/session/vars", &json!({ "vars": { "tmp": "/tmp/x" } }), 409);
    control(&server, "/@gw0/__loomrec/session/end", &json!({}), 200);
    control(&server, "/@gw0/__loomrec/session/end", &json!({}), 404);
    server.stop().expect(0);
}

#[test]
fn members_that_need_takes_of_their_own_are_refused_by_name() {
    let scene = recorded();
    let server = scene.replay(&[]);
    for (member, value) in [
        ("recording", json!("a.json")),
        ("mode", json!("record")),
        ("mode", json!("new")),
        ("ignore", json!(["/seed"])),
        ("ignore_headers", json!(["x-a"])),
        ("normalize", json!(["uuid"])),
        ("vars", json!({ "tmp": "/tmp/x" })),
        ("prefix", json!("a/b")),
        ("prefix", json!("a\nb")),
        ("prefix", json!("")),
        ("prefix", json!("x".repeat(201))),
        ("unknown", json!(1)),
    ] {
        let mut body = json!({ "prefix": "gw0" });
        body[member] = value;
        let refused = control(&server, "/__loomrec/session", &body, 400);
        assert!(refused["error"].as_str().unwrap().contains(member), "{refused}");
    }
    // Odd, but a prefix.
    for (prefix, path) in [("a b", "a%20b"), ("é\"", "%C3%A9%22"), ("..", "%2E%2E"), ("@@", "@@")]
    {
        begin(&server, prefix);
        server.call(&in_session(path, "One")).expect(200);
        assert_eq!(end(&server, prefix)["receipt"]["served"], 1, "{prefix}");
    }
    server.stop().expect(0);
}

#[test]
fn session_has_faults_of_its_own() {
    let scene = recorded();
    let server = scene.replay(&[]);
    let faulty = json!({ "prefix": "gw0", "fault": "429;times=1" });
    control(&server, "/__loomrec/session", &faulty, 201);
    begin(&server, "gw1");
    server.call(&in_session("gw1", "One")).expect(200);
    server.call(&in_session("gw0", "One")).expect(429);
    server.call(&in_session("gw0", "One")).expect(200);
    assert_eq!(end(&server, "gw0")["receipt"]["faulted"], 1);
    assert_eq!(end(&server, "gw1")["receipt"]["faulted"], 0);
    server.stop().expect(0);
}

#[test]
fn takes_that_were_recorded_in_a_session_come_first_in_the_session_of_that_name() {
    let scene = Scene::new();
    let upstream = Upstream::script(
        ["of shard1", "of shard2"].map(|text| Answer::json(200, chat_answer(text))).into(),
    );
    scene.recorded(&upstream, &[in_session("shard1", "Hello"), in_session("shard2", "Hello")]);
    let server = scene.replay(&[]);
    for prefix in ["shard2", "shard1"] {
        begin(&server, prefix);
        let answer = server.call(&in_session(prefix, "Hello")).expect(200);
        assert!(answer.text().contains(&format!("of {prefix}")), "{}", answer.text());
        end(&server, prefix);
    }
    server.stop().expect(0);
}

#[test]
fn command_whose_calls_are_all_in_sessions_has_tested_something() {
    let scene = recorded();
    let run = |call: &str, more: &[&str], code: i32| {
        let script = format!(
            r#"U=${{OPENAI_BASE_URL%/openai/v1}}; post() {{ curl -s "$U$1" -d "$2"; }}
            post /__loomrec/session '{{"prefix":"w"}}'; {call}
            post /__loomrec/session/end '{{"prefix":"w"}}'"#
        );
        let mut args = scene.replay_args(more);
        args.extend(["--", "sh", "-c", &script].map(Into::into));
        finish(&mut command(scene.dir(), &args), b"").expect(code)
    };
    let call = |prompt: &str| {
        let json = "-H 'content-type: application/json'";
        format!("curl -s $U/@w{CHAT} {json} -d '{}';", chat_body(prompt))
    };
    for more in [&[][..], &["--strict"]] {
        run(&call("One"), more, 0).says(&["1 session (1 served, 0 missed)"]);
        // A session without a call has tested nothing.
        run("", more, 1).says(&["1 session (0 served, 0 missed)", "nothing was tested"]);
    }
    // In a strict replay, a session that the program has begun is no way around the verdict.
    run(&call("Other"), &[], 0).says(&["1 session (0 served, 1 missed)"]);
    let said = run(&call("Other"), &["--strict"], 1);
    said.says(&["session w: calls without a recorded answer: 1"]);
    // A test framework judges its sessions itself, if that is typed.
    let by_control = ["--strict", "--sessions-by-control"];
    run(&call("Other"), &by_control, 0).says(&["weakened by flags: --sessions-by-control"]);
    let mut untyped = command(scene.dir(), &scene.replay_args(&["--strict", "--", "true"]));
    let ended = finish(untyped.env("LOOMREC_SESSIONS_BY_CONTROL", "1"), b"");
    ended.expect(1).says(&["set aside by --strict: LOOMREC_SESSIONS_BY_CONTROL"]);
}

#[test]
fn document_shows_the_configuration_of_nginx_that_is_tested() {
    let read = |path: &str| {
        fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
    };
    let shown = format!("```nginx\n{}```\n", read("tests/hub/nginx.conf"));
    assert!(read("docs/hub.md").contains(&shown));
}

#[test]
fn recording_into_one_file_has_no_sessions_of_control_calls() {
    let scene = Scene::new();
    let upstream = echo();
    let server = scene.record(&upstream, &[]);
    for path in ["/__loomrec/session", "/@gw0/__loomrec/session"] {
        let refused = control(&server, path, &json!({ "prefix": "gw0" }), 409);
        assert!(refused["error"].as_str().unwrap().contains("{session}"), "{refused}");
    }
    assert_eq!(upstream.requests(), 0);
    server.stop().expect(0);
    let args = scene.record_args(&upstream.url(), &["--sessions-by-control"]);
    finish(&mut command(scene.dir(), &args), b"").expect(2).says(&["--sessions-by-control"]);
}
