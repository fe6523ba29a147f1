//! Tests of other programs that delete, replace or truncate a recorder's files: what can be saved
//! is saved, and the rest is reported.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::support::gate::PATIENCE;
use crate::support::ledger::{check, kept, mark, teller};
use crate::support::loomrec::{Process, command};
use crate::support::swarm::call;
use crate::support::{Scene, Server};

/// Makes one call and returns the mark of its answer.
fn one(server: &Server, name: &str) -> String {
    mark(&server.call(&call(&format!("chat-{name}"))).expect(200).text()).unwrap()
}

/// The contents of `--receipt receipt.json`.
fn receipt(scene: &Scene) -> serde_json::Value {
    let text = fs::read_to_string(scene.path("receipt.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Waits until the log has been compacted into the file.
#[track_caller]
fn wait_for_fold(scene: &Scene) {
    let until = Instant::now() + PATIENCE;
    let is_empty = |suffix| fs::metadata(scene.hidden(suffix)).map_or(true, |log| log.len() == 0);
    while !(scene.recording().exists() && is_empty(".log") && is_empty(".folding")) {
        assert!(Instant::now() < until, "nobody folds: {:?}", scene.names());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What is done to a recording that is being recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Delete,
    Replace,
    Truncate,
}

#[test]
fn a_recording_that_someone_deletes_replaces_or_truncates_is_not_called_whole() {
    for deed in [Deed::Delete, Deed::Replace, Deed::Truncate] {
        let (scene, upstream) = (Scene::new(), teller());
        scene.recorded(&upstream, &[call("chat-earlier")]);
        let before = scene.text();
        let server = scene.record(&upstream, &[]);
        one(&server, "folded");
        wait_for_fold(&scene);
        match deed {
            Deed::Delete => fs::remove_file(scene.recording()).unwrap(),
            Deed::Replace => fs::write(scene.recording(), before).unwrap(),
            Deed::Truncate => fs::write(scene.recording(), "").unwrap(),
        }
        let after = one(&server, "after");
        let said = server.stop().expect(5).stderr;
        match deed {
            // No readable file is left for compaction, so later exchanges stay in the log.
            Deed::Truncate => assert!(said.contains("run.json"), "{deed:?}: {said}"),
            _ => {
                assert!(said.contains("deleted or replaced"), "{deed:?}: {said}");
                assert!(kept(&scene).contains(&after), "{deed:?}: {}", scene.text());
            }
        }
        if deed == Deed::Truncate {
            fs::remove_file(scene.recording()).unwrap();
            assert_eq!(check(&scene, &BTreeSet::from([after])).len(), 1);
        }
    }
}

#[test]
fn a_recording_that_is_gone_at_the_end_is_not_called_whole() {
    let (scene, upstream) = (Scene::new(), teller());
    let server = scene.record(&upstream, &[]);
    one(&server, "folded");
    wait_for_fold(&scene);
    fs::remove_file(scene.recording()).unwrap();
    server.stop().expect(5).says(&["deleted or replaced"]);
}

#[test]
fn a_recording_that_is_gone_before_its_first_fold_is_not_called_whole() {
    for deed in [Deed::Delete, Deed::Replace] {
        for with_a_call in [true, false] {
            let (scene, upstream) = (Scene::new(), teller());
            scene.recorded(&upstream, &[call("chat-earlier"), call("chat-other")]);
            let server = scene.record(&upstream, &["--receipt", "receipt.json"]);
            if with_a_call {
                one(&server, "after");
            }
            match deed {
                Deed::Delete => fs::remove_file(scene.recording()).unwrap(),
                _ => {
                    fs::write(scene.path("new"), "{\n  \"_version\": 2\n}\n").unwrap();
                    fs::rename(scene.path("new"), scene.recording()).unwrap();
                }
            }
            let what = format!("{deed:?}, {with_a_call}");
            let done = server.stop();
            assert_eq!(done.code, 5, "{what}: {}", done.stderr);
            assert!(done.stderr.contains("deleted or replaced"), "{what}: {}", done.stderr);
            let receipt = receipt(&scene);
            assert!(receipt["not_kept"].as_u64().unwrap() >= 2, "{what}: {receipt}");
        }
    }
}

#[test]
fn a_recording_that_is_replaced_by_one_of_the_same_keys_is_not_called_whole() {
    for is_folded in [true, false] {
        let (scene, upstream) = (Scene::new(), teller());
        scene.recorded(&upstream, &[call("chat-same")]);
        fs::copy(scene.recording(), scene.path("old")).unwrap();
        let server = scene.record(&upstream, &["--receipt", "receipt.json"]);
        one(&server, if is_folded { "same" } else { "other" });
        if is_folded {
            wait_for_fold(&scene);
        }
        fs::rename(scene.path("old"), scene.recording()).unwrap();
        server.stop().expect(5).says(&["deleted or replaced"]);
        let receipt = receipt(&scene);
        assert_eq!((&receipt["not_kept"], &receipt["verdict"]), (&1.into(), &"failed".into()));
    }
}

#[test]
fn a_recording_that_comes_while_there_is_none_yet_is_not_taken_for_a_loss() {
    let (scene, other, upstream) = (Scene::new(), Scene::new(), teller());
    other.recorded(&upstream, &[call("chat-other")]);
    let server = scene.record(&upstream, &[]);
    one(&server, "own");
    fs::copy(other.recording(), scene.recording()).unwrap();
    server.stop().expect(0);
    assert_eq!(kept(&scene).len(), 2);
}

#[test]
fn recorders_that_fold_beside_each_other_are_not_taken_for_someone_else() {
    let (scene, upstream) = (Scene::new(), teller());
    scene.recorded(&upstream, &[call("chat-earlier")]);
    let servers = [scene.record(&upstream, &[]), scene.record(&upstream, &[])];
    let mut marks = BTreeSet::new();
    for n in 0..3 {
        for (who, server) in servers.iter().enumerate() {
            marks.insert(one(server, &format!("call{n}-{who}")));
            wait_for_fold(&scene);
        }
    }
    servers.into_iter().for_each(|server| drop(server.stop().expect(0)));
    assert!(check(&scene, &marks).len() > marks.len());
}

#[test]
fn a_log_that_someone_deletes_is_written_again() {
    for with_a_call_after in [true, false] {
        let (scene, upstream) = (Scene::new(), teller());
        let server = scene.record(&upstream, &[]);
        let mut marks = BTreeSet::from([one(&server, "one"), one(&server, "two")]);
        fs::remove_file(scene.hidden(".log")).unwrap();
        if with_a_call_after {
            marks.insert(one(&server, "three"));
        }
        server.stop().expect(0);
        assert_eq!(check(&scene, &marks), marks);
        assert_eq!(scene.names(), ["run.json"]);
    }
}

#[test]
fn a_lock_file_that_someone_deletes_does_no_harm() {
    let (scene, upstream) = (Scene::new(), teller());
    let servers = [scene.record(&upstream, &[]), scene.record(&upstream, &[])];
    let mut marks = BTreeSet::new();
    for n in 0..10 {
        marks.insert(one(&servers[n % 2], &format!("call{n}")));
        if n % 3 == 0 {
            // Between two appends the lock is free; during one, its holder keeps it.
            let _ = fs::remove_file(scene.hidden(".lock"));
        }
    }
    servers.into_iter().for_each(|server| drop(server.stop().expect(0)));
    assert_eq!(check(&scene, &marks), marks);
    assert_eq!(scene.names(), ["run.json"]);
}

#[test]
fn sidecars_of_a_dead_process_are_no_obstacle() {
    let (scene, upstream) = (Scene::new(), teller());
    fs::write(scene.planted(".lock"), "loomrec, pid 4194304, since 2020-01-01T00:00:00Z\n")
        .unwrap();
    fs::write(scene.planted(".run"), "{\"run\":null}\n\"half a na").unwrap();
    let server = scene.record(&upstream, &[]);
    let marks = BTreeSet::from([one(&server, "one")]);
    server.stop().expect(0);
    assert_eq!(check(&scene, &marks), marks);
    assert_eq!(scene.names(), ["run.json"]);
}

/// Takes the lock as another program would, and writes that program's name into it.
fn hold(scene: &Scene) -> fs::File {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(true).read(true).write(true);
    let mut file = options.open(scene.planted(".lock")).unwrap();
    fs2::FileExt::lock_exclusive(&file).unwrap();
    file.write_all(b"loomrec, pid 4711, since 2026-01-02T03:04:05Z\n").unwrap();
    file
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_taken() {
    let (scene, upstream) = (Scene::new(), teller());
    let guard = hold(&scene);
    let mut waiting = Process::spawn(&mut command(
        scene.dir(),
        &[scene.record_args(&upstream.url(), &["--listen", "127.0.0.1:0"])].concat(),
    ));
    // It may report that it waits; it must neither have given up nor have started.
    std::thread::sleep(Duration::from_millis(200));
    assert!(!waiting.stderr().contains("listening"), "{}", waiting.stderr());
    drop(guard);
    waiting.wait_for("listening");
    waiting.signal("INT");
    waiting.wait().expect(0);
}

#[test]
fn a_lock_that_stays_held_is_given_up_with_its_holders_name() {
    let (scene, upstream) = (Scene::new(), teller());
    let server = scene.record(&upstream, &[]);
    let guard = hold(&scene);
    let began = Instant::now();
    let mut args = scene.record_args(&upstream.url(), &[]);
    args.extend(["--".into(), "true".into()]);
    let second = Process::spawn(&mut command(scene.dir(), &args));
    // The answer still comes, once it is clear that it cannot be stored.
    let address = server.address;
    let late = std::thread::spawn(move || {
        let mut client = crate::support::Client::connect(address);
        client.wait_up_to(PATIENCE * 2);
        client.exchange(&call("chat-unkept")).expect(200);
    });
    let holder = ["loomrec, pid 4711, since 2026-01-02T03:04:05Z", "within 30 s", "run.json.lock"];
    second.wait().expect(5).says(&holder);
    late.join().unwrap();
    assert!(began.elapsed() < PATIENCE * 2);
    drop(guard);
    let after = one(&server, "after");
    server.stop().expect(5).says(&holder);
    assert_eq!(check(&scene, &BTreeSet::from([after])).len(), 1);
}
