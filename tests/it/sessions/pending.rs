//! Tests of missed requests of sessions: each is kept beside its recording, and commands on a folder
//! fetch the answers and review them.

use std::fs;

use serde_json::{Value, json};

use super::{begin, control, echo, end, entries, files, in_session};
use crate::support::loomrec::{command, finish};
use crate::support::{Finished, Scene, Server, Upstream};

const NAMES: [&str; 3] = ["one", "two", "three"];

/// The flags of a server for a test framework that keeps missed requests.
const KEEPING: [&str; 4] = ["--strict", "--allow-control", "--sessions-by-control", "--pending"];

/// Three recordings in folders of their own, each with one call.
fn recorded(upstream: &Upstream) -> Scene {
    let scene = Scene::of_sessions();
    let server = scene.record(upstream, &["--sessions-by-control"]);
    in_each(&server, "Where is");
    server.stop().expect(0);
    scene
}

/// Has a call in a session of each recording. Returns the receipts.
fn in_each(server: &Server, words: &str) -> Vec<Value> {
    let each = |name: &&str| {
        begin(server, &json!({ "prefix": "w", "recording": format!("{name}/it.json") }));
        server.call(&in_session("w", &format!("{words} {name}?")));
        end(server, "w", true)["receipt"].clone()
    };
    NAMES.iter().map(each).collect()
}

fn run(scene: &Scene, words: &[&str], code: i32) -> Finished {
    finish(&mut command(scene.dir(), words), b"").expect(code)
}

#[test]
fn three_commands_bring_the_recordings_of_a_folder_up_to_date() {
    let upstream = echo();
    let scene = recorded(&upstream);
    let server = scene.replay(&KEEPING);
    let receipts = in_each(&server, "Where was");
    server.stop().expect(0);
    for (receipt, name) in receipts.iter().zip(NAMES) {
        assert_eq!((&receipt["missed"], &receipt["pending"]["calls"]), (&json!(1), &json!(1)));
        assert!(files(&scene, &format!("recordings/{name}")).contains(&"it.json.pending".into()));
    }
    let listed = run(&scene, &["review", "recordings", "--check"], 1).stdout;
    assert_eq!(listed.matches("1 request waits for its answer").count(), 3, "{listed}");
    let fetch = |yes: &[&str], code| {
        let upstream = format!("openai={}", upstream.url());
        let words = ["rerecord", "recordings", "--pending", "--upstream", &upstream];
        let mut fetch = command(scene.dir(), &[&words, yes].concat());
        fetch.env("OPENAI_API_KEY", "sk-folder-0123456789abcdefghijklmn");
        finish(&mut fetch, b"").expect(code)
    };
    let seen = upstream.requests();
    let planned = fetch(&["--dry-run"], 0);
    assert!(planned.stdout.contains("3 calls"), "{}", planned.stdout);
    assert_eq!(upstream.requests(), seen);
    let fetched = fetch(&["--yes"], 0);
    assert!(
        fetched.stderr.contains("all of them: loomrec review recordings"),
        "{}",
        fetched.stderr
    );
    assert_eq!(upstream.requests(), seen + 3);
    fetch(&["--yes"], 0);
    assert_eq!(upstream.requests(), seen + 3, "what is there is not sent again");
    let shown = run(&scene, &["review", "recordings"], 0).stdout;
    for name in NAMES {
        assert!(shown.contains(&format!("Where was {name}?")), "{shown}");
    }
    run(&scene, &["review", "recordings", "--accept"], 0);
    run(&scene, &["review", "recordings", "--accept"], 0);
    let server = scene.replay(&KEEPING);
    for receipt in in_each(&server, "Where was") {
        assert_eq!((&receipt["served"], &receipt["missed"]), (&json!(1), &json!(0)));
    }
    server.stop().expect(0);
    for name in NAMES {
        assert_eq!(files(&scene, &format!("recordings/{name}")), ["it.json"], "nothing is left");
        assert_eq!(entries(&scene, &format!("recordings/{name}/it.json")).len(), 1);
    }
}

#[test]
fn reject_on_a_folder_leaves_its_recordings_as_they_are() {
    let upstream = echo();
    let scene = recorded(&upstream);
    let before = fs::read(scene.path("recordings/one/it.json")).unwrap();
    let server = scene.replay(&KEEPING);
    begin(&server, &json!({ "prefix": "w", "recording": "one/it.json" }));
    // The session is begun anew, and still keeps what is missed.
    control(&server, "session/vars", &json!({ "prefix": "w", "vars": { "t": "/tmp/ab" } }), 200);
    server.call(&in_session("w", "Where was one?"));
    end(&server, "w", true);
    server.stop();
    let upstream = format!("openai={}", upstream.url());
    let words = ["rerecord", "recordings", "--pending", "--yes", "--upstream", &upstream];
    let mut fetch = command(scene.dir(), &words);
    finish(fetch.env("OPENAI_API_KEY", "sk-folder-0123456789abcdefghijklmn"), b"").expect(0);
    run(&scene, &["review", "recordings", "--reject"], 0);
    assert_eq!(fs::read(scene.path("recordings/one/it.json")).unwrap(), before);
    let nothing = run(&scene, &["review", "recordings"], 0).stdout;
    assert!(nothing.contains("nothing waits for a review in recordings"), "{nothing}");
}

#[test]
fn test_without_a_recording_keeps_nothing() {
    let upstream = echo();
    let scene = recorded(&upstream);
    let server = scene.replay(&KEEPING);
    begin(&server, &json!({ "prefix": "w", "recording": "new/it.json" }));
    server.call(&in_session("w", "Who is new?")).expect(422);
    assert_eq!(end(&server, "w", true)["receipt"]["pending"], Value::Null);
    server.stop();
    assert!(!scene.path("recordings/new").exists());
}

#[test]
fn flags_for_one_recording_are_refused_for_a_folder() {
    let scene = recorded(&echo());
    let said = |words: &[&str]| run(&scene, words, 2).stderr;
    assert!(said(&["rerecord", "recordings"]).contains("recordings is a folder"));
    for words in [
        &["rerecord", "recordings", "4f2a", "--pending"][..],
        &["rerecord", "recordings", "--pending", "-o", "x.json"],
        &["rerecord", "recordings", "--pending", "one.pending"],
    ] {
        assert!(said(words).contains("is for one recording"), "{words:?}");
    }
    assert!(said(&["review", "recordings", "--accept", "4f2a"]).contains("name that file"));
    assert!(said(&["review", "recordings", "--output", "x.json"]).contains("one FILE"));
    let template = ["replay", "-r", "recordings/{session}.json", "--pending", "x.pending"];
    assert!(said(&template).contains("--pending FILE is for one recording"));
    run(&scene, &["rerecord", "recordings", "--pending", "--yes"], 0);
}
