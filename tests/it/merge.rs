//! Tests of `merge`: several recordings into one.

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Scene, Upstream};

/// Records calls into `name`, each answered with these words.
fn record(scene: &Scene, name: &str, words: &str, calls: &[Call], more: &[&str]) {
    let words = words.to_owned();
    let upstream =
        Upstream::start(move |request| match request.text().contains("\"stream\":true") {
            true => Answer::events(&chat_events(&[&words])),
            false => Answer::json(200, chat_answer(&words)),
        });
    let server = scene.record(&upstream, more);
    calls.iter().for_each(|call| drop(server.call(call).expect(200)));
    server.stop().expect(0);
    std::fs::rename(scene.recording(), scene.path(name)).unwrap();
}

/// The answers of the merged recording, with every take used.
#[track_caller]
fn replayed(scene: &Scene, calls: &[Call]) -> Vec<String> {
    let answers = scene.replayed(&["--fail-unused"], calls, 0);
    let words = |answer: &crate::support::Response| {
        answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    answers.iter().map(words).collect()
}

#[test]
fn recordings_become_one_with_the_calls_of_all() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("one"), chat("both")], &[]);
    record(&scene, "b.json", "a", &[chat("two"), chat("both")], &[]);
    record(&scene, "c.json", "c", &[chat("three")], &[]);
    let told = scene.run(&["merge", "-o", "run.json", "a.json", "b.json", "c.json"]).expect(0);
    told.says(&["run.json: 4 takes", "2 of 2 from a.json", "1 of 2 from b.json", "1 of 1 from c"]);
    let calls = [chat("one"), chat("both"), chat("two"), chat("three")];
    assert_eq!(replayed(&scene, &calls), ["a", "a", "a", "c"]);
    assert_eq!(scene.names(), ["a.json", "b.json", "c.json", "run.json"]);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(scene.recording()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn conflict_is_decided_as_asked_and_refused_otherwise() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("same"), chat("one")], &[]);
    record(&scene, "b.json", "b", &[chat("same"), chat("two")], &[]);
    let merge = |more: &[&str]| {
        scene.run(&[&["merge", "-o", "run.json", "a.json", "b.json"], more].concat())
    };
    let told = merge(&[]).expect(1).says(&["1 conflict", "--on-conflict", "nothing was written"]);
    // A short key and the question name the call.
    let line = told.stderr.lines().find(|line| line.contains("answered differently")).unwrap();
    let (key, words) = line.trim().split_once(": ").unwrap();
    assert_eq!((key.len(), words), (12, "answered differently by both: same"));
    assert_eq!(scene.names(), ["a.json", "b.json"]);
    for (choice, words) in [("first", &["a"][..]), ("last", &["b"]), ("both", &["a", "b"])] {
        merge(&["--on-conflict", choice, "--force"]).expect(0).says(&["1 conflict, decided"]);
        let same = vec![chat("same"); words.len()];
        let calls = [&same[..], &[chat("one"), chat("two")]].concat();
        assert_eq!(replayed(&scene, &calls), [words, &["a", "b"]].concat());
    }
    let told = merge(&["--json", "--on-conflict", "first", "--force"]).expect(0);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["takes"], 3);
    assert_eq!(told["written"], true);
    assert_eq!(told["conflicts"][0]["kind"], "changed");
    assert_eq!(told["conflicts"][0]["asks"], "same");
    assert_eq!(told["recordings"][1], json!({"path": "b.json", "takes": 2, "kept": 1}));
}

#[test]
fn output_that_is_there_is_kept_unless_it_is_one_of_them_or_force_is_given() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("one")], &[]);
    record(&scene, "b.json", "b", &[chat("two")], &[]);
    scene.write("not mine");
    scene.run(&["merge", "-o", "run.json", "a.json", "b.json"]).expect(2).says(&["--force"]);
    assert_eq!(scene.text(), "not mine");
    std::fs::remove_file(scene.recording()).unwrap();
    let before = std::fs::read_to_string(scene.path("b.json")).unwrap();
    scene.run(&["merge", "-o", "b.json", "b.json", "a.json"]).expect(0);
    let after = std::fs::read_to_string(scene.path("b.json")).unwrap();
    assert!(after.starts_with(before.trim_end_matches("\n}\n")), "{after}");
    std::fs::rename(scene.path("b.json"), scene.recording()).unwrap();
    assert_eq!(replayed(&scene, &[chat("one"), chat("two")]), ["a", "b"]);
    // Merging again changes nothing.
    let before = scene.text();
    scene.run(&["merge", "-o", "run.json", "run.json", "a.json"]).expect(0);
    assert_eq!(scene.text(), before);
}

#[test]
fn streamed_and_complete_calls_are_not_in_each_others_way() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("hi")], &[]);
    record(&scene, "b.json", "b", &[chat_streamed("hi")], &[]);
    scene.run(&["merge", "-o", "run.json", "a.json", "b.json"]).expect(0);
    let answers = scene.replayed(&["--fail-unused"], &[chat("hi"), chat_streamed("hi")], 0);
    assert!(answers[0].text().contains("\"a\""), "{}", answers[0].text());
    assert!(answers[1].text().contains("\"b\""), "{}", answers[1].text());
}

#[test]
fn other_rules_are_refused_until_they_are_united() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("one")], &["--ignore", "/user"]);
    record(&scene, "b.json", "b", &[chat("two")], &["--ignore", "/seed"]);
    let told = scene.run(&["merge", "-o", "run.json", "a.json", "b.json"]).expect(2);
    told.says(&["a.json and b.json", "/user", "/seed", "--unite-rules"]);
    scene.run(&["merge", "-o", "run.json", "a.json", "b.json", "--unite-rules"]).expect(0);
    assert_eq!(replayed(&scene, &[chat("one"), chat("two")]), ["a", "b"]);
    assert_eq!(scene.json()["_loomrec"]["identity"]["ignore"], json!(["/seed", "/user"]));
    // A key that cannot be recomputed.
    std::fs::write(
        scene.path("c.json"),
        format!("{{\"{}\": {{\"content\": \"x\"}}}}", "0".repeat(64)),
    )
    .unwrap();
    let args = ["merge", "-o", "d.json", "a.json", "c.json", "--unite-rules"];
    scene.run(&args).expect(4).says(&["c.json", "its request is not recorded"]);
}

#[test]
fn metadata_of_all_is_kept() {
    let scene = Scene::new();
    let file = |name: &str, text: &str| std::fs::write(scene.path(name), text).unwrap();
    file("a.json", r#"{"_version": 2, "_a": 1, "_both": 1, "x": {"content": "one"}}"#);
    file("b.json", r#"{"_version": 2, "_b": 2, "_both": 2, "y": {"content": "two"}}"#);
    scene
        .run(&["merge", "-o", "run.json", "a.json", "b.json"])
        .expect(1)
        .says(&["_both: metadata"]);
    let args = ["merge", "-o", "run.json", "a.json", "b.json", "--on-conflict", "first"];
    scene.run(&args).expect(0);
    let json = scene.json();
    assert_eq!((&json["_a"], &json["_b"], &json["_both"]), (&json!(1), &json!(2), &json!(1)));
    assert_eq!((&json["x"]["content"], &json["y"]["content"]), (&json!("one"), &json!("two")));
}

#[test]
fn bad_recordings_are_refused_with_their_place() {
    let scene = Scene::new();
    record(&scene, "good.json", "a", &[chat("one")], &[]);
    let deep = format!("{{\"x\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, says) in [
        (String::new(), "empty"),
        ("{\"x\": {".to_owned(), "line 1"),
        ("[]".to_owned(), "array"),
        ("{\"x\": 1}".to_owned(), "\"x\""),
        ("{\"x\": {}, \"x\": {}}".to_owned(), "occurs twice"),
        (deep, "bad.json"),
        ("\0\0\0\0".to_owned(), "bad.json"),
    ] {
        std::fs::write(scene.path("bad.json"), text).unwrap();
        for args in [["good.json", "bad.json"], ["bad.json", "good.json"]] {
            let told = scene.run(&["merge", "-o", "run.json", args[0], args[1]]).expect(4);
            told.says(&["bad.json", says]);
        }
    }
    scene
        .run(&["merge", "-o", "run.json", "good.json", "none.json"])
        .expect(4)
        .says(&["none.json"]);
    scene.run(&["merge", "-o", "run.json", "good.json"]).expect(2);
    assert_eq!(scene.names(), ["bad.json", "good.json"]);
}

#[test]
fn recording_that_is_being_recorded_into_is_not_changed() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("one")], &[]);
    let upstream = Upstream::always(Answer::json(200, chat_answer("b")));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("two")).expect(200);
    scene
        .run(&["merge", "-o", "run.json", "run.json", "a.json"])
        .expect(5)
        .says(&["recorded into"]);
    // It is good enough to be read.
    scene.run(&["merge", "-o", "c.json", "run.json", "a.json"]).expect(0).says(&["2 takes"]);
    server.stop().expect(0);
}

#[test]
fn strict_calls_stay_strict_when_they_come_into_another_tools_recording() {
    let scene = Scene::new();
    record(&scene, "a.json", "a", &[chat("one")], &[]);
    let theirs = r#"{"_version": 2, "plan": {"content": "x", "model": "m"}}"#;
    std::fs::write(scene.recording(), theirs).unwrap();
    scene.run(&["merge", "-o", "run.json", "run.json", "a.json"]).expect(0);
    // AgentLoom's own recordings repeat their last answer.
    let answers = scene.replayed(&[], &[chat("one"), chat("one")], 1);
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 422]);
}
