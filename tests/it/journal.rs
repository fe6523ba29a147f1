//! Tests of the journal: what it says about each call, reading it while it grows, and what happens
//! if it cannot be written.

mod command;
mod follow;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Gate, Scene, Server, Upstream};

/// The lines of a journal.
fn lines(scene: &Scene, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asserts that a line has these members.
#[track_caller]
fn says(line: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&line[name], value, "{name}: {line:#}");
    }
}

/// The JSON of a control endpoint.
fn control(server: &Server, path: &str) -> Value {
    server.call(&Call::get(&format!("/__loomrec/{path}")).header("host: localhost")).json()
}

/// The line in the journal in memory for which `is` returns true, once there is one.
#[track_caller]
fn line_with(server: &Server, is: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let calls = control(server, "journal")["calls"].take();
        if let Some(line) = calls.as_array().unwrap().iter().find(|line| is(line)) {
            return line.clone();
        }
        assert!(Instant::now() < until, "never in the journal: {calls:#}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn recording_of(prompts: &[&str]) -> Scene {
    let scene = Scene::new();
    let calls: Vec<Call> = prompts.iter().map(|prompt| chat(prompt)).collect();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &calls);
    scene
}

const JOURNAL: [&str; 2] = ["--journal", "run.jsonl"];

#[test]
fn a_recorded_call_has_every_field() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("hi"))));
    let server = scene.record(&upstream, &JOURNAL);
    let call = chat("one")
        .header("x-loomrec-session: s")
        .header("x-loomrec-step-id: plan")
        .header("x-stainless-retry-count: 2");
    server.call(&call).expect(200);
    server.stop().expect(0);
    let all = lines(&scene, "run.jsonl");
    assert_eq!(all.len(), 1, "{all:#?}");
    let line = &all[0];
    let take = scene.only_take();
    says(
        line,
        &json!({
            "v": 1, "seq": 1, "outcome": "recorded", "status": 200, "mode": "record",
            "source": "upstream", "method": "POST", "path": "/v1/chat/completions",
            "upstream": "openai", "provider": "openai", "operation": "Chat Completions",
            "model": "gpt-4o-mini", "streamed": false, "session": "s", "step_id": "plan",
            "key": take["request_hash"], "matched_by": null, "bound": null, "entry": null, "take": null,
            "bytes": chat_answer("hi").len(), "chunks": 1, "end": "complete",
            "input_tokens": 9, "output_tokens": 12, "cost_usd": take["cost_usd"],
            "kept": true, "answer": "complete", "answer_reason": null, "attempt": 3, "fault": null, "mismatch": null, "more": null,
        }),
    );
    let ms = |name: &str| line[name].as_f64().unwrap();
    assert!(ms("waited_ms") <= ms("head_ms") && ms("head_ms") <= ms("first_byte_ms"), "{line:#}");
    assert!(ms("first_byte_ms") <= ms("total_ms"), "{line:#}");
    assert_eq!(line.as_object().unwrap().len(), 40, "docs/journal.md has a row for each");
    let documented = include_str!("../../docs/journal.md");
    for name in line.as_object().unwrap().keys() {
        assert!(documented.contains(&format!("`{name}`")), "docs/journal.md lacks {name}");
    }
}

#[test]
fn a_replayed_a_missed_and_a_refused_call_say_where_their_answers_came_from() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&JOURNAL);
    server.call(&chat("one")).expect(200);
    server.call(&chat("other")).expect(422);
    server.call(&Call::get("/nowhere/secret?key=sk-abc").header("host: localhost")).expect(404);
    server.stop().expect(1);
    let all = lines(&scene, "run.jsonl");
    let take = &scene.takes()[0].1;
    says(
        &all[0],
        &json!({
            "outcome": "served", "source": "recording", "mode": "replay", "take": 1,
            "matched_by": "request_hash", "key": take["request_hash"], "end": "complete",
            "input_tokens": 9, "output_tokens": 12, "kept": null, "attempt": null,
            "entry": scene.takes()[0].0, "more": { "entry": scene.takes()[0].0 },
        }),
    );
    says(&all[1], &json!({ "outcome": "missed", "source": null, "status": 422, "take": null }));
    let mismatch = &all[1]["mismatch"];
    assert!(mismatch["reason"].is_string(), "{mismatch:#}");
    assert!(mismatch["nearest"]["differences"].is_array(), "{mismatch:#}");
    let refused = json!({ "outcome": "refused", "source": null, "status": 404, "key": null,
                          "upstream": null, "operation": null });
    says(&all[2], &refused);
    assert_eq!(all[2]["path"], "/nowhere/secret");
    assert_eq!(all.len(), 3, "{all:#?}");
    assert!(!all[2].to_string().contains("sk-abc"), "{}", all[2]);
}

#[test]
fn a_stream_that_is_cut_says_so_recorded_and_replayed() {
    let scene = Scene::new();
    let events = chat_events(&["a"]);
    let cut = Answer::stream().chunk(&events[0]).pause(30).chunk(&events[1]).close();
    let upstream = Upstream::always(cut);
    let server = scene.record(&upstream, &JOURNAL);
    server.call(&chat_streamed("one"));
    server.stop();
    let recorded = lines(&scene, "run.jsonl");
    let server = scene.replay(&JOURNAL);
    server.call(&chat_streamed("one"));
    server.stop();
    let bytes = events[0].len() + events[1].len();
    let all = [&recorded[0], &lines(&scene, "run.jsonl")[0]];
    for (line, outcome) in all.into_iter().zip(["recorded", "served"]) {
        let expected = json!({ "outcome": outcome, "end": "aborted", "streamed": true,
                               "bytes": bytes, "chunks": 2 });
        says(line, &expected);
    }
}

#[test]
fn a_client_that_left_is_told_from_one_that_got_all() {
    let (scene, gate, events) = (Scene::new(), Gate::new(), chat_events(&["a", "b"]));
    let answer = Answer::stream().chunk(&events[0]).wait(&gate).chunk(events[1..].concat()).end();
    let upstream = Upstream::always(answer);
    let server = scene.record(&upstream, &JOURNAL);
    let mut client = server.connect();
    client.send(&chat_streamed("one"));
    client.head();
    client.until("assistant");
    drop(client);
    std::thread::sleep(Duration::from_millis(50));
    gate.open();
    let line = line_with(&server, |line| line["outcome"] == "recorded");
    // The exchange goes on without the client, and is recorded in full.
    let expected = json!({ "end": "client_left", "kept": true, "chunks": 1,
                           "bytes": events[0].len() });
    says(&line, &expected);
    server.stop().expect(0);
    let server = scene.replay(&["--latency", "constant:60000"]);
    let mut client = server.connect();
    client.send(&chat_streamed("one"));
    std::thread::sleep(Duration::from_millis(50));
    drop(client);
    let line = line_with(&server, |line| line["outcome"] == "left");
    says(&line, &json!({ "end": "client_left", "status": null, "source": null, "bytes": 0 }));
    server.stop();
}

#[test]
fn a_call_that_is_open_when_the_run_ends_has_its_line() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let events = chat_events(&["a"]);
    let answer = Answer::stream().chunk(&events[0]).wait(&gate).chunk(&events[1]).end();
    let upstream = Upstream::always(answer);
    let server = scene.record(&upstream, &JOURNAL);
    let mut client = server.connect();
    client.send(&chat_streamed("one"));
    client.head();
    client.until("assistant");
    server.process.signal("TERM");
    std::thread::sleep(Duration::from_millis(100));
    server.process.signal("TERM");
    let said = server.process.wait();
    gate.open();
    let all = lines(&scene, "run.jsonl");
    assert_eq!(all.len(), 1, "{all:#?} {}", said.stderr);
    says(&all[0], &json!({ "outcome": "recorded", "end": "aborted", "kept": true }));
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[&JOURNAL[..], &["--fault", "hang"]].concat());
    let mut client = server.connect();
    client.send(&chat("one"));
    line_with(&server, |line| line["outcome"] == "fired");
    server.stop();
    let all = lines(&scene, "run.jsonl");
    let call = all.iter().find(|line| line["outcome"] == "faulted").unwrap();
    says(call, &json!({ "status": null, "end": "aborted", "source": "fault" }));
    let server = scene.replay(&[&JOURNAL[..], &["--latency", "constant:60000"]].concat());
    let mut client = server.connect();
    client.send(&chat("one"));
    std::thread::sleep(Duration::from_millis(100));
    server.process.signal("TERM");
    std::thread::sleep(Duration::from_millis(100));
    server.process.signal("TERM");
    server.process.wait();
    says(&lines(&scene, "run.jsonl")[0], &json!({ "outcome": "unanswered", "end": "aborted" }));
}

#[test]
fn a_fault_a_script_and_a_placeholder_are_sources_of_their_own() {
    let scene = recording_of(&["one"]);
    let faulty = ["--fault", "http_error:503", "--journal", "run.jsonl"];
    let server = scene.replay(&faulty);
    server.call(&chat("one")).expect(503);
    server.stop();
    let all = lines(&scene, "run.jsonl");
    let line = all.iter().find(|line| line["outcome"] == "faulted").unwrap();
    says(line, &json!({ "source": "fault", "status": 503, "end": "complete", "attempt": 1 }));
    assert_eq!(line["fault"]["type"], "http_error");
    let fired = all.iter().find(|line| line["outcome"] == "fired").unwrap();
    assert!(fired["v"] == 1 && fired["at"].is_string() && fired["seq"].is_u64(), "{fired}");
    let server = scene.replay(&["--on-miss", "default", "--journal", "run.jsonl"]);
    server.call(&chat("other")).expect(200);
    server.stop();
    let expected = json!({ "outcome": "default", "source": "default", "matched_by": "default" });
    says(&lines(&scene, "run.jsonl")[0], &expected);
    std::fs::write(scene.path("script.json"), r#"[[{"text": "hi"}]]"#).unwrap();
    let args = ["replay", "--script", "script.json", "--journal", "run.jsonl"];
    let server = Server::start(scene.dir(), &args);
    server.call(&chat("one")).expect(200);
    server.stop().expect(0);
    let expected = json!({ "outcome": "scripted", "source": "script", "matched_by": "script",
                           "more": { "script": { "call": 1 } } });
    says(&lines(&scene, "run.jsonl")[0], &expected);
}

#[test]
fn hostile_names_are_cut_and_stay_one_line() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&JOURNAL);
    let model = format!("a\"b\nc\u{1b}[2J{}", "é".repeat(100_000));
    let body = json!({ "model": model, "messages": [] });
    server.call(&Call::post("/openai/v1/chat/completions", body.to_string())).expect(422);
    server.stop().expect(1);
    let all = lines(&scene, "run.jsonl");
    assert_eq!(all.len(), 1);
    let told = all[0]["model"].as_str().unwrap();
    assert!(told.starts_with("a\"b\nc\u{1b}[2Jé") && told.len() <= 1024, "{}", told.len());
}

#[test]
fn a_journal_that_takes_nothing_stops_no_traffic_and_is_said() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--repeat", "last", "--journal", "/dev/full"]);
    for _ in 0..20 {
        server.call(&chat("one")).expect(200);
        std::thread::sleep(Duration::from_millis(2));
    }
    let until = Instant::now() + Duration::from_secs(20);
    while control(&server, "health")["journal"]["file"]["lost"] != 20 {
        assert!(Instant::now() < until, "{:#}", control(&server, "health"));
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = server.stop().expect(0).stderr;
    assert_eq!(said.matches("traffic goes on").count(), 1, "{said}");
    assert!(said.contains("the journal is not whole: 20 lines are lost: No space left"), "{said}");
}

#[test]
fn a_pipe_that_nobody_reads_stops_neither_the_traffic_nor_the_end() {
    let scene = recording_of(&["one"]);
    let pipe = scene.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let opened = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::File::open(opened).unwrap());
    let server = scene.replay(&["--repeat", "last", "--journal", "pipe"]);
    let reader = reader.join().unwrap();
    let mut client = server.connect();
    for _ in 0..400 {
        client.exchange(&chat("one")).expect(200);
    }
    drop(client);
    let began = Instant::now();
    let said = server.stop().expect(0).stderr;
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    assert!(said.contains("the journal is not whole: the file accepts no data"), "{said}");
    drop(reader);
}

#[test]
fn journal_of_a_run_that_goes_on_is_not_taken_by_another() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[&JOURNAL[..], &["--repeat", "last"]].concat());
    server.call(&chat("one")).expect(200);
    line_with(&server, |line| line["seq"] == 1);
    let other =
        ["replay", "-r", scene.name(), "--journal", "run.jsonl", "--allow-empty", "--", "true"];
    scene.run(&other).expect(2).says(&["another run writes its journal there"]);
    server.call(&chat("one")).expect(200);
    server.stop().expect(0);
    assert_eq!(lines(&scene, "run.jsonl").len(), 2, "nothing of it is lost");
    scene.run(&other).expect(0);
}

#[test]
fn journal_does_not_take_the_place_of_a_recording_that_is_not_there_yet() {
    let scene = Scene::new();
    let args = ["record", "-r", "new.json", "--journal", "./new.json", "--", "true"];
    scene.run(&args).expect(2).says(&["both name"]);
    assert!(!scene.path("new.json").exists());
}
