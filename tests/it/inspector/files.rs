//! Tests of `loomrec ui`: recordings and journals in a browser.

use std::fmt::Write as _;
use std::io::Write as _;

use super::*;
use crate::support::Client;

/// A running `loomrec ui`.
pub(super) struct Ui {
    process: Process,
    address: std::net::SocketAddr,
}

impl Ui {
    #[track_caller]
    pub(super) fn start(scene: &Scene, args: &[&str]) -> Self {
        let args: Vec<&str> = ["ui"].iter().chain(args).copied().collect();
        let mut process = Process::spawn(&mut command(scene.dir(), &args));
        let said = process.wait_for("loomrec ui: http://");
        let address = between(&said, "loomrec ui: http://", "/__loomrec/").parse().unwrap();
        Self { process, address }
    }

    #[track_caller]
    pub(super) fn call(&self, call: &Call) -> Response {
        Client::call(self.address, call)
    }

    #[track_caller]
    fn lines(&self, query: &str) -> Vec<Value> {
        let answer = self.call(&get(&format!("journal?{query}"))).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    pub(super) fn details(&self, seq: u64) -> Value {
        self.call(&get(&format!("call?seq={seq}"))).expect(200).json()
    }

    /// Ends it as Ctrl-C does.
    #[track_caller]
    pub(super) fn stop(self) {
        self.process.signal("INT");
        self.process.wait().expect(0);
    }
}

#[test]
fn a_recording_is_told_take_by_take_in_the_order_of_its_calls() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.text().contains("claude") {
        true => Answer::json(200, message_answer("from anthropic")),
        false => Answer::json(200, chat_answer("from openai")),
    });
    let again = || chat("one").header("x-loomrec-session: s");
    scene.recorded(&upstream, &[again(), message("two"), again()]);
    let ui = Ui::start(&scene, &[scene.name()]);
    let asked: Vec<Value> = ui.lines("since=0").iter().map(|line| line["asks"].clone()).collect();
    assert_eq!(asked, ["one", "two", "one"]);
    let run = ui.call(&get("run")).expect(200).json();
    let expected = json!({ "v": 1, "kind": "recording", "mode": null, "version": run["version"],
        "files": [scene.name()], "live": false, "token_needed": false, "calls": 3,
        "in_force": null });
    assert_eq!(run, expected);
    let lines = ui.lines("since=0&follow=1");
    let of = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("seq"), [1, 2, 3]);
    assert_eq!(of("upstream"), ["openai", "anthropic", "openai"]);
    assert_eq!(of("take"), [1, 1, 2]);
    assert_eq!(of("outcome"), ["recorded"; 3]);
    assert_eq!(of("source"), ["recording"; 3]);
    assert_eq!(of("status"), [200; 3]);
    assert_eq!(of("session"), [json!("s"), json!(null), json!("s")]);
    assert_eq!(ui.lines("since=2").len(), 1);
    assert_eq!(ui.lines("").len(), 3);
    let told = ui.details(2);
    assert_eq!(told["line"], lines[1]);
    assert_eq!(
        (message_texts(&told["request"]), message_texts(&told["answer"])),
        (vec!["two".to_owned()], vec!["from anthropic".to_owned()])
    );
    let key = lines[2]["entry"].as_str().unwrap();
    let named = ui.call(&get(&format!("call?key={key}&take=2"))).expect(200).json();
    assert_eq!(named["line"]["at"], lines[2]["at"]);
    ui.call(&get("call?seq=0")).expect(404);
    ui.call(&get("call?seq=4")).expect(404);
    assert_eq!(
        ui.call(&get("")).expect(200).header("content-type"),
        Some("text/html; charset=utf-8")
    );
    ui.call(&Call::get("/").header("host: localhost")).expect(308);
    ui.call(&Call::get("/other").header("host: localhost")).expect(404);
    ui.call(&Call::get("/__loomrec/").header("host: evil.example")).expect(403);
    ui.call(&get("run").header("origin: https://evil.example")).expect(403);
    ui.call(&Call::post("/__loomrec/run", "").header("host: localhost")).expect(405);
    ui.stop();
}

#[test]
fn a_takes_line_has_the_fields_of_a_journals_line() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    server.call(&chat("one")).expect(200);
    let of_run = details(&server, 1)["line"].clone();
    server.stop().expect(0);
    let ui = Ui::start(&scene, &[scene.name()]);
    let mut of_file = ui.lines("since=0").remove(0);
    // A journal does not hold what calls ask.
    assert_eq!(of_file.as_object_mut().unwrap().shift_remove("asks"), Some(json!("one")));
    let names = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&of_run), names(&of_file));
    for name in [
        "path",
        "operation",
        "provider",
        "upstream",
        "model",
        "streamed",
        "key",
        "entry",
        "take",
        "bytes",
        "status",
        "end",
        "input_tokens",
        "output_tokens",
        "cost_usd",
    ] {
        assert_eq!(of_run[name], of_file[name], "{name}");
    }
    ui.stop();
}

#[test]
fn a_journal_is_told_as_it_grows_with_what_its_recording_holds() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--journal", "run.jsonl", "--repeat", "last"]);
    server.call(&chat("one")).expect(200);
    server.call(&chat("other")).expect(422);
    let until = Instant::now() + Duration::from_secs(20);
    while std::fs::read_to_string(scene.path("run.jsonl")).unwrap().lines().count() < 2 {
        assert!(Instant::now() < until, "the journal is not written");
        std::thread::sleep(Duration::from_millis(5));
    }
    let ui = Ui::start(&scene, &["run.jsonl", "-r", scene.name()]);
    let run = ui.call(&get("run")).expect(200).json();
    assert_eq!(
        (&run["kind"], &run["live"], &run["calls"]),
        (&json!("journal"), &json!(true), &json!(2))
    );
    let mut follower = Client::connect(ui.address);
    follower.send(&get("journal?since=2&follow=1"));
    follower.head();
    server.call(&chat("one")).expect(200);
    let line: Value = serde_json::from_slice(&follower.until("\n")).unwrap();
    assert_eq!((&line["seq"], &line["outcome"]), (&json!(3), &json!("served")));
    drop(follower);
    let served = ui.details(1);
    assert_eq!(
        (message_texts(&served["request"]), message_texts(&served["answer"])),
        (vec!["one".to_owned()], vec!["hi".to_owned()])
    );
    let questions = ui.call(&get("questions?seq=3,2,1,9")).expect(200).json();
    let asks = |seq: u64, asks: Option<&str>| json!({ "seq": seq, "asks": asks });
    let expected = [asks(3, Some("one")), asks(2, None), asks(1, Some("one")), asks(9, None)];
    assert_eq!(questions, json!({ "v": 1, "questions": expected }));
    assert!(ui.lines("since=0").iter().all(|line| line.get("asks").is_none()));
    let missed = ui.details(2);
    assert_eq!(message_texts(&missed["nearest_request"]), ["one"]);
    assert_eq!(missed["request"], json!(null));
    assert!(missed["mismatch"]["reason"].is_string() && missed["why_no_bodies"].is_string());
    ui.stop();
    let ui = Ui::start(&scene, &["run.jsonl"]);
    let questions = ui.call(&get("questions?seq=1")).expect(200).json();
    assert_eq!(questions["questions"], json!([{ "seq": 1, "asks": null }]));
    assert!(ui.details(1)["why_no_bodies"].as_str().unwrap().contains("-r"));
    ui.stop();
    server.stop();
}

#[test]
fn a_journal_is_told_as_it_grows_and_damage_is_passed_over() {
    let scene = Scene::new();
    let line = |seq: u64| json!({ "v": 1, "seq": seq, "outcome": "served" }).to_string() + "\n";
    let damaged = line(7) + "not json\n" + &line(9);
    let text = line(5) + &line(6) + &damaged + &line(10) + "{\"v\":1,\"half";
    std::fs::write(scene.path("j.jsonl"), text).unwrap();
    let ui = Ui::start(&scene, &["j.jsonl"]);
    let told = |lines: Vec<Value>| {
        let both = |line: Value| {
            (line["seq"].as_u64().unwrap(), line["outcome"].as_str().unwrap().to_owned())
        };
        lines.into_iter().map(both).collect::<Vec<_>>()
    };
    let lines = told(ui.lines("since=0"));
    let word = |(number, _): &(u64, String)| *number;
    assert_eq!(lines.iter().map(word).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(lines[3].1, "skipped");
    let mut follower = Client::connect(ui.address);
    follower.send(&get("journal?since=6&follow=1"));
    follower.head();
    let mut file = std::fs::OpenOptions::new().append(true).open(scene.path("j.jsonl")).unwrap();
    file.write_all(b"\":1}\n").unwrap();
    let whole: Value = serde_json::from_slice(&follower.until("\n")).unwrap();
    assert_eq!((&whole["seq"], &whole["half"]), (&json!(7), &json!(1)));
    std::fs::remove_file(scene.path("j.jsonl")).unwrap();
    std::fs::write(scene.path("j.jsonl"), line(12)).unwrap();
    let next: Value = serde_json::from_slice(&follower.until("\n")).unwrap();
    assert_eq!((&next["seq"], &next["outcome"]), (&json!(8), &json!("served")));
    assert_eq!(ui.lines("since=0").len(), 8, "what is gone by its name is still held open");
    ui.stop();
}

#[test]
fn ten_thousand_calls_are_listed_and_any_of_them_is_told() {
    let scene = Scene::new();
    let mut text = String::from("{\"_version\": 2");
    for number in 0..10_000 {
        let entry = json!({ "content": format!("answer {number}"), "model": "m",
            "request": { "method": "POST", "path": "/v1/chat/completions",
                         "body": { "messages": [{ "role": "user", "content": number.to_string() }] } } });
        write!(text, ",\n\"step-{number}\": {entry}").unwrap();
    }
    scene.write(text + "\n}\n");
    let ui = Ui::start(&scene, &[scene.name()]);
    let lines = ui.lines("since=0&follow=1");
    assert_eq!(lines.len(), 10_000);
    assert_eq!(
        (&lines[9_999]["seq"], &lines[9_999]["step_id"]),
        (&json!(10_000), &json!("step-9999"))
    );
    let told = ui.details(7_001);
    assert_eq!(
        (message_texts(&told["request"]), message_texts(&told["answer"])),
        (vec!["7000".to_owned()], vec!["answer 7000".to_owned()])
    );
    ui.stop();
}

#[test]
fn a_recording_is_told_with_the_log_of_a_run_that_goes_on() {
    let scene = recording_of(&["one"]);
    let upstream = Upstream::always(Answer::json(200, chat_answer("new")));
    let server = scene.record(&upstream, &["--mode", "new_episodes"]);
    server.call(&chat("two")).expect(200);
    let ui = Ui::start(&scene, &[scene.name()]);
    assert_eq!(ui.lines("since=0").len(), 2, "what is in the log of a run that goes on is there");
    assert_eq!(message_texts(&ui.details(2)["answer"]), ["new"]);
    ui.stop();
    server.stop();
}

#[test]
fn files_that_cannot_be_looked_at_are_refused() {
    let scene = recording_of(&["one"]);
    std::fs::write(scene.path("empty"), "").unwrap();
    std::fs::write(scene.path("list.json"), "[1, 2]").unwrap();
    std::fs::write(scene.path("half.json"), &scene.text()[..scene.text().len() / 2]).unwrap();
    let line = json!({ "v": 1, "seq": 1, "outcome": "served" });
    std::fs::write(scene.path("j.jsonl"), format!("{line}\n")).unwrap();
    for (args, code) in [
        (vec!["missing.json"], 4),
        (vec!["empty"], 4),
        (vec!["list.json"], 4),
        (vec!["half.json"], 4),
        (vec!["j.jsonl", "-r", "missing.json"], 4),
        (vec![scene.name(), "-r", scene.name()], 2),
        (vec![], 2),
        (vec![scene.name(), "--listen", "99999"], 2),
    ] {
        let all: Vec<&str> = ["ui"].iter().chain(&args).copied().collect();
        let ended = scene.run(&all);
        assert_eq!(ended.code, code, "{args:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    scene.run(&["ui", scene.name(), "--listen", &port]).expect(6).says(&["--listen"]);
}

#[test]
fn those_who_are_given_lines_are_bounded_in_number() {
    let scene = Scene::new();
    let line = json!({ "v": 1, "seq": 1, "outcome": "served" });
    std::fs::write(scene.path("j.jsonl"), format!("{line}\n")).unwrap();
    let ui = Ui::start(&scene, &["j.jsonl"]);
    let follow = || {
        let mut client = Client::connect(ui.address);
        client.send(&get("journal?follow=1"));
        let line = client.head().line;
        (line.split(' ').nth(1).unwrap().to_owned(), client)
    };
    let followers: Vec<_> = (0..64).map(|_| follow()).collect();
    assert!(followers.iter().all(|(status, _)| status == "200"));
    assert_eq!(follow().0, "503");
    drop(followers);
    let until = Instant::now() + Duration::from_secs(20);
    while follow().0 != "200" {
        assert!(Instant::now() < until, "places are not given free");
        std::thread::sleep(Duration::from_millis(20));
    }
    ui.stop();
}
