//! Tests of invalid files and of large ones.

use std::time::{Duration, Instant};

use serde_json::{Map, json};

use super::sample::{
    MORE, accepted_letters, head, is_done, pending, rewrite, sample, takes, write,
};

#[test]
fn files_that_are_not_what_they_should_be_are_named() {
    let scene = sample();
    let good = std::fs::read(scene.path("run.json.new")).unwrap();
    let before = scene.text();
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    for (text, code, says) in [
        (&b""[..], 4, "run.json.new"),
        (&good[..good.len() / 2], 4, "run.json.new"),
        (b"[]", 4, "run.json.new"),
        (b"{\"_loomrec\": {\"pending\": \"review\"}, \"a\": 1}", 4, "run.json.new"),
        (b"{\"_loomrec\": {\"pending\": \"review\"}, \"a\": {}, \"a\": {}}", 4, "run.json.new"),
        (deep.as_bytes(), 4, "run.json.new"),
        (
            b"{\"_loomrec\": {\"pending\": \"answers\"}}",
            2,
            "loomrec rerecord --pending run.json.new run.json",
        ),
        (b"{\"_loomrec\": {\"pending\": 7}}", 2, "no pending changes"),
        (before.as_bytes(), 2, "loomrec diff run.json run.json.new"),
    ] {
        std::fs::write(scene.path("run.json.new"), text).unwrap();
        for args in [
            &["review", "run.json"][..],
            &["review", "run.json", "--accept"],
            &["review", "--list", "run.json"],
        ] {
            scene.run(args).expect(code).says(&[says]);
        }
        assert_eq!(std::fs::read(scene.path("run.json.new")).unwrap(), text);
    }
    assert_eq!(scene.text(), before);
    std::fs::write(scene.path("run.json.new"), &good).unwrap();
    scene.run(&["review", "run.json.new"]).expect(2).says(&["name the recording itself: run.json"]);
    scene.run(&["review", "gone.json", "--accept"]).expect(4).says(&["gone.json"]);
    // Keys under other rules would never be found.
    rewrite(&scene, |file| file["_loomrec"]["identity"]["ignore"] = json!(["/user"]));
    scene.run(&["review", "run.json", "--accept"]).expect(2).says(&["--ignore"]);
    assert_eq!(scene.text(), before);
    // An empty file has nothing to decide, and is removed.
    std::fs::write(scene.path("run.json.new"), "{\"_loomrec\": {\"pending\": \"review\"}}")
        .unwrap();
    scene.run(&["review", "run.json", "--check"]).expect(0);
    assert!(scene.path("run.json.new").exists(), "whoever checks changes nothing");
    scene.run(&["review", "run.json"]).expect(0);
    is_done(&scene);
}

#[test]
fn thousands_of_changes_are_decided_in_one_go() {
    let scene = sample();
    let (_, entry) = takes(&scene).remove(0);
    let (mut old, mut fresh) = (scene.json().as_object().unwrap().clone(), Map::new());
    fresh.extend([head(&scene.json(), "review")]);
    for at in 0..2000 {
        let name = format!("step{at:04}");
        let mut before = entry.clone();
        before["recorded_at"] =
            json!(format!("2026-01-01T00:{:02}:{:02}.000000Z", at / 60, at % 60));
        let mut after = entry.clone();
        after["content"] = json!(MORE);
        fresh.insert(
            name.clone(),
            pending(after, "rerecorded", Some((name.clone(), before.clone()))),
        );
        old.insert(name, before);
    }
    write(&scene.recording(), &old);
    write(&scene.path("run.json.new"), &fresh);
    let start = Instant::now();
    scene.run(&["review", "--check"]).expect(1);
    let listed = scene.run(&["review", "run.json"]).expect(0).stdout;
    assert!(listed.contains("2000 changes wait"));
    scene.run(&["review", "run.json", "--reject", "step0007"]).expect(0);
    scene.run(&["review", "run.json", "--accept"]).expect(0);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(accepted_letters(&scene).matches('a').count(), 1999);
    is_done(&scene);
}
