//! Tests of decisions by command, and of what prevents them.

use serde_json::{Map, Value, json};

use super::sample::{
    accepted_letters, entries, head, is_done, keys, new, pending, rewrite, sample, takes, texts,
    write,
};
use crate::support::shape::chat;
use crate::support::{Answer, Scene, Upstream};

#[test]
fn all_is_accepted_where_no_key_is_named() {
    let scene = sample();
    let before = scene.text();
    let ended = scene.run(&["review", "run.json", "--accept"]).expect(0);
    assert_eq!(
        ended.stdout,
        "4 accepted · no change is left; run.json.new was deleted\nnext: git add run.json\n"
    );
    assert_eq!(accepted_letters(&scene), "aa..aa");
    is_done(&scene);
    let (old, new) = (texts(&before), texts(&scene.text()));
    assert_eq!(&old[4..6], &new[4..6], "what nothing replaced");
    // It can be replayed: the last entry was renamed in its place.
    let calls = ["Will it rain?", "What is kept?", "And after that?", "One more"].map(chat);
    scene.replayed(&[], &calls, 0);
    let ended = scene.run(&["review", "run.json", "--accept"]).expect(0);
    assert_eq!(ended.stdout, "nothing waits for a review of run.json\n");
}

/// Turns two of the changes into failures: an error, and a cut answer.
fn with_failures() -> Scene {
    let scene = sample();
    let names = keys(&scene);
    rewrite(&scene, |file| {
        file[&names[0]]["response"]["status"] = json!(503);
        let cut = match &mut file[&names[1]] {
            Value::Array(turns) => &mut turns[0],
            entry => entry,
        };
        cut["response"]["end"] = json!("upstream_abort");
        file[&names[3]]["response"]["status"] = json!(401);
    });
    scene
}

#[test]
fn failed_call_does_not_replace_a_take_that_succeeded() {
    let scene = with_failures();
    let names = keys(&scene);
    let ended = scene.run(&["review", "run.json", "--accept"]).expect(1);
    assert!(ended.stdout.contains("2 accepted"), "{}", ended.stdout);
    let first = format!("{}: status 503", &names[0][..12]);
    ended.says(&[
        "2 changes are not accepted",
        &first,
        "greet: the connection was closed before the end",
        "--keep-failures",
    ]);
    // The others are accepted: one that replaces a take, and a new call, which replaces nothing.
    assert_eq!(accepted_letters(&scene), "....aa");
    assert_eq!(keys(&scene), names[..2]);
    let before = scene.files();
    scene
        .run(&["review", "run.json", "--accept", "greet"])
        .expect(1)
        .says(&["1 change is not accepted"]);
    scene.run(&["review", "run.json", "--accept", "--force"]).expect(1);
    assert_eq!(scene.files(), before);
    let printed = scene.run(&["review", "run.json"]).expect(0).stdout;
    assert!(
        printed.contains("loomrec review run.json --keep-failures --accept greet"),
        "{printed}"
    );
    scene.run(&["review", "run.json", "--accept", "--keep-failures"]).expect(0);
    assert_eq!(accepted_letters(&scene), "aa..aa");
    is_done(&scene);
}

#[test]
fn failed_call_replaces_another_failed_call() {
    let scene = with_failures();
    let mut file = scene.json();
    let first = takes(&scene)[0].0.clone();
    file[&first]["response"]["status"] = json!(500);
    write(&scene.recording(), file.as_object().unwrap());
    scene.run(&["review", "run.json", "--accept", &first]).expect(0);
    assert_eq!(accepted_letters(&scene), "a....");
}

#[test]
fn all_is_rejected_where_no_key_is_named() {
    let scene = sample();
    let before = scene.text();
    let ended = scene.run(&["review", "run.json", "--reject"]).expect(0);
    assert!(ended.stdout.contains("4 rejected") && ended.stdout.contains("run.json is unchanged"));
    assert_eq!(scene.text(), before);
    is_done(&scene);
}

#[test]
fn change_is_named_by_its_key_or_by_the_one_it_replaces() {
    let scene = sample();
    let names = keys(&scene);
    let old = takes(&scene)[4].0.clone();
    scene.run(&["review", "run.json", "--accept", &names[3][..8]]).expect(0);
    assert_eq!(accepted_letters(&scene), ".....a");
    scene.run(&["review", "run.json", "--accept", &old]).expect(0);
    assert_eq!(accepted_letters(&scene), "....aa");
    scene.run(&["review", "run.json", "--reject", "greet"]).expect(0);
    assert_eq!(keys(&scene), [names[0].clone()]);
    let first: String = names[0].to_uppercase();
    scene.run(&["review", "run.json", "--accept", &first]).expect(0);
    assert_eq!(accepted_letters(&scene), "a...aa");
    is_done(&scene);
}

#[test]
fn key_that_names_no_change_is_refused_with_the_nearest() {
    let scene = sample();
    let before = scene.files();
    scene
        .run(&["review", "run.json", "--accept", "greet", "gret"])
        .expect(2)
        .says(&["\"gret\"", "greet"]);
    scene.run(&["review", "run.json", "--reject", "ab"]).expect(2).says(&["4 digits"]);
    scene.run(&["review", "run.json", "--accept", "greet#2"]).expect(2).says(&["review", "--list"]);
    // The key is in the recording, and has no pending change.
    let kept = takes(&scene)[2].0.clone();
    scene.run(&["review", "run.json", "--accept", &kept]).expect(2).says(&["no change"]);
    assert_eq!(scene.files(), before);
    std::fs::remove_file(scene.path("run.json.new")).unwrap();
    scene.run(&["review", "run.json", "--accept", "greet"]).expect(2).says(&["nothing waits"]);
}

#[test]
fn takes_of_one_key_are_meant_together_or_one_by_one() {
    let scene = sample();
    let all = takes(&scene);
    let (kept, second) = (all[2].clone(), all[3].clone());
    assert_eq!(second.0, format!("{}#2", kept.0));
    rewrite(&scene, |file| {
        file.retain(|name, _| name.starts_with('_'));
        for (at, take) in [kept.clone(), second.clone()].into_iter().enumerate() {
            let mut entry = take.1.clone();
            entry["content"] = json!(super::sample::MORE);
            entry["recorded_at"] = json!(format!("2031-01-01T00:00:0{at}.000000Z"));
            file.insert(take.0.clone(), pending(entry, "rerecorded", Some(take)));
        }
    });
    let backup = std::fs::read(scene.path("run.json.new")).unwrap();
    let before = scene.text();
    let printed = scene.run(&["review", "run.json"]).expect(0).stdout;
    let short = &kept.0[..12];
    assert!(printed.contains("  asks: What is kept?\n"), "{printed}");
    assert!(
        printed.contains(&format!("loomrec review run.json --accept '{short}#1'\n")),
        "{printed}"
    );
    assert!(
        printed.contains(&format!("loomrec review run.json --reject '{short}#2'\n")),
        "{printed}"
    );
    scene.run(&["review", "run.json", "--accept", &format!("{short}#2")]).expect(0);
    assert_eq!(accepted_letters(&scene), "...a.");
    scene.run(&["review", "run.json", "--accept", &format!("{short}#1")]).expect(0);
    assert_eq!(accepted_letters(&scene), "..aa.");
    scene.write(before);
    std::fs::write(scene.path("run.json.new"), backup).unwrap();
    scene.run(&["review", "run.json", "--accept", short]).expect(0);
    assert_eq!(accepted_letters(&scene), "..aa.");
    is_done(&scene);
}

#[test]
fn take_that_moves_up_stays_the_one_to_be_replaced() {
    let scene = sample();
    let all = takes(&scene);
    // Both takes of a key, without times, each with another request now.
    let mut file = scene.json();
    for name in [&all[2].0, &all[3].0] {
        file[name].as_object_mut().unwrap().remove("recorded_at");
    }
    write(&scene.recording(), file.as_object().unwrap());
    let now = takes(&scene);
    rewrite(&scene, |file| {
        let fresh: Vec<Value> =
            entries(&Value::Object(file.clone())).map(|(_, entry)| entry).collect();
        file.retain(|name, _| name.starts_with('_'));
        for (at, name) in [(2, "one"), (3, "two")] {
            file.insert(name.into(), pending(fresh[at].clone(), "drifted", Some(now[at].clone())));
        }
    });
    scene.run(&["review", "run.json", "--accept", "one"]).expect(0);
    let replaces = new(&scene)["two"]["pending"]["replaces"].clone();
    assert_eq!((&replaces["take"], &replaces["name"]), (&json!(1), &json!(now[2].0)));
    scene.run(&["review", "run.json", "--accept", "two"]).expect(0);
    let names: Vec<String> = takes(&scene).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[2..], ["two".to_owned(), now[4].0.clone(), "one".to_owned()]);
}

#[test]
fn change_is_a_conflict_when_what_it_replaces_is_another_now() {
    for gone in [false, true] {
        let scene = sample();
        let mut file = scene.json();
        let first = takes(&scene)[0].0.clone();
        match gone {
            true => drop(file.as_object_mut().unwrap().shift_remove(&first)),
            false => file[&first]["recorded_at"] = json!("2031-01-01T00:00:00.000000Z"),
        }
        write(&scene.recording(), file.as_object().unwrap());
        let before = scene.files();
        let said = scene.run(&["review", "run.json"]).expect(0).stdout;
        let words = if gone { "not there any more" } else { "has changed since" };
        assert!(said.contains(words) && said.contains("--force"), "{said}");
        assert!(said.contains("4 changes wait, 1 of them in conflict"), "{said}");
        scene
            .run(&["review", "run.json", "--accept"])
            .expect(1)
            .says(&["1 change is in conflict", "--force"]);
        assert_eq!(scene.files(), before);
        let told_of = scene.run(&["review", "--list", "run.json", "--json"]).expect(0).stdout;
        let state = if gone { "conflict_gone" } else { "conflict_changed" };
        let told_of: Value = serde_json::from_str(&told_of).unwrap();
        assert_eq!(told_of["files"][0]["changes"][0]["state"], state);
        scene.run(&["review", "run.json", "--accept", "greet"]).expect(0);
        scene.run(&["review", "run.json", "--accept", "--force"]).expect(0);
        assert_eq!(accepted_letters(&scene), if gone { "a..aaa" } else { "aa..aa" });
        is_done(&scene);
    }
}

#[test]
fn crash_between_the_two_files_leaves_nothing_to_be_done_twice() {
    for (then, wanted) in
        [(&["review", "run.json"][..], "aa..aa"), (&["review", "run.json", "--accept"], "aa..aa")]
    {
        let scene = sample();
        let waiting = std::fs::read(scene.path("run.json.new")).unwrap();
        scene.run(&["review", "run.json", "--accept"]).expect(0);
        let after = scene.text();
        // The recording is written, and the pending file still exists.
        std::fs::write(scene.path("run.json.new"), waiting).unwrap();
        scene.run(&["review", "--check"]).expect(0);
        let said = scene.run(then).expect(0).stdout;
        assert!(said.contains("4 accepted before"), "{said}");
        assert_eq!((accepted_letters(&scene).as_str(), scene.text()), (wanted, after));
        is_done(&scene);
    }
    // Some were accepted, others are still undecided.
    let scene = sample();
    let waiting = std::fs::read(scene.path("run.json.new")).unwrap();
    scene.run(&["review", "run.json", "--accept", "greet"]).expect(0);
    std::fs::write(scene.path("run.json.new"), waiting).unwrap();
    scene.run(&["review", "run.json", "--accept"]).expect(0);
    assert_eq!(accepted_letters(&scene), "aa..aa");
    is_done(&scene);
}

#[test]
fn recording_that_is_being_recorded_into_is_left_alone() {
    let scene = sample();
    let upstream = Upstream::start(|_| Answer::json(200, "{}"));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("Meanwhile"));
    let waiting = std::fs::read(scene.path("run.json.new")).unwrap();
    scene.run(&["review", "run.json", "--accept"]).expect(5).says(&["being recorded into"]);
    assert_eq!(std::fs::read(scene.path("run.json.new")).unwrap(), waiting);
    server.stop().expect(0);
    scene.run(&["review", "run.json", "--accept"]).expect(0);
    assert_eq!(accepted_letters(&scene), "aa..a.a");
}

#[test]
fn requests_that_were_answered_wait_no_longer() {
    let scene = sample();
    let mut file = Map::from_iter([head(&scene.json(), "answers")]);
    for (name, mut entry) in entries(&new(&scene)).skip(2) {
        entry.as_object_mut().unwrap().retain(|member, _| {
            ["request", "request_hash", "upstream", "provider", "pending"]
                .contains(&member.as_str())
        });
        file.insert(name, entry);
    }
    let mut other = file.values().next_back().unwrap().clone();
    other["request_hash"] = json!("ab".repeat(32));
    file.insert("later".into(), other);
    write(&scene.path("run.json.pending"), &file);
    let said = scene.run(&["review", "--list"]).expect(0).stdout;
    assert!(said.contains("run.json: 4 changes wait for their review: loomrec review run.json\n"));
    // Two of them already have their answers.
    let fetch = "run.json: 1 request waits for its answer: \
                 loomrec rerecord run.json --pending\n";
    assert!(said.contains(fetch), "{said}");
    scene.run(&["review", "run.json", "--accept"]).expect(0);
    let left = std::fs::read_to_string(scene.path("run.json.pending")).unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(entries(&left).map(|(name, _)| name).collect::<Vec<_>>(), ["later"]);
    scene.run(&["review", "--check"]).expect(1);
    let said = scene.run(&["review", "run.json", "--check"]).expect(1).stdout;
    assert!(
        said.contains("1 request waits for its answer: loomrec rerecord run.json --pending"),
        "{said}"
    );
    // The last request is removed with its file.
    let scene = sample();
    let mut file = Map::from_iter([head(&scene.json(), "answers")]);
    let (name, entry) = entries(&new(&scene)).nth(3).unwrap();
    file.insert(name.clone(), entry);
    write(&scene.path("run.json.pending"), &file);
    scene.run(&["review", "run.json", "--reject", &name]).expect(0);
    assert!(!scene.path("run.json.pending").exists());
}

#[test]
fn changes_may_wait_under_another_name() {
    let scene = sample();
    std::fs::rename(scene.path("run.json.new"), scene.path("tried it.json")).unwrap();
    scene.run(&["review", "run.json", "--check"]).expect(0);
    let said = scene.run(&["review", "run.json", "--output", "tried it.json"]).expect(0).stdout;
    assert!(
        said.contains("loomrec review run.json --output 'tried it.json' --accept greet\n"),
        "{said}"
    );
    scene.run(&["review", "run.json", "-o", "tried it.json", "--check"]).expect(1);
    scene.run(&["review", "run.json", "--accept", "greet", "-o", "tried it.json"]).expect(0);
    assert_eq!(accepted_letters(&scene), ".a...");
    scene.run(&["review", "run.json", "--reject", "-o", "tried it.json"]).expect(0);
    assert!(!scene.path("tried it.json").exists());
    scene
        .run(&["review", "run.json", "--reject", "-o", "tried it.json"])
        .expect(4)
        .says(&["tried it.json"]);
    scene.run(&["review", "--list", "-o", "x.json"]).expect(2);
}
