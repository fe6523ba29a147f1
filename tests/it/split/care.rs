//! Tests of maintaining a recording that is a folder: its pending files are beside it, and every
//! maintenance command accepts it.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{calls, git, names, step, upstream};
use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, message};
use crate::support::{Call, Finished, Scene, Upstream};

/// A folder with the calls of [`calls`].
fn recorded(upstream: &Upstream) -> Scene {
    let scene = Scene::split();
    scene.recorded(upstream, &calls());
    scene
}

/// The same calls, one of them with another prompt.
fn drifted() -> Vec<Call> {
    let mut calls = calls();
    calls[1] = message("two, changed");
    calls
}

/// The files of the folder, and their bytes.
fn files(scene: &Scene) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let bytes = fs::read(scene.recording().join(&name)).unwrap();
        (name, bytes)
    };
    names(&scene.recording()).into_iter().map(read).collect()
}

/// Replays calls from the recording as a user names it, and exits with `code`.
#[track_caller]
fn replayed(scene: &Scene, more: &[&str], calls: &[Call], code: i32) -> Finished {
    let args = [&["replay", "--strict", "-r", "run/"], more].concat();
    let server = crate::support::Server::start(scene.dir(), &args);
    for call in calls {
        server.call(call);
    }
    server.stop().expect(code)
}

#[track_caller]
fn rerecord(scene: &Scene, upstream: &Upstream, args: &[&str], code: i32) -> Finished {
    let mut command = command(scene.dir(), &[&["rerecord", "--yes"], args].concat());
    for name in ["openai", "anthropic"] {
        command.args(["--upstream".to_owned(), format!("{name}={}", upstream.url())]);
    }
    command.env("OPENAI_API_KEY", "k".repeat(20)).env("ANTHROPIC_API_KEY", "k".repeat(20));
    finish(&mut command, b"").expect(code)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn changed_prompt_goes_through_the_three_commands_beside_the_folder() {
    let upstream = upstream();
    let scene = recorded(&upstream);
    for args in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "base"]] {
        assert!(git(scene.dir(), args), "{args:?}");
    }
    let before = files(&scene);
    replayed(&scene, &[], &drifted(), 1).says(&["replay with --pending, then:"]);
    replayed(&scene, &["--pending", "run.pending"], &drifted(), 1).says(&[
        "1 call waits in run.pending",
        "\n    loomrec rerecord run/ --pending run.pending\n",
        "\n    loomrec review run/\n",
        "\n    git add run/ && git commit\n",
    ]);
    assert_eq!(scene.names(), [".git", "run", "run.pending"]);
    let told = scene.run(&["review", "--list"]).expect(0).stdout;
    assert!(told.contains("run: 1 request waits for its answer"), "{told}");
    rerecord(&scene, &upstream, &["--pending", "run.pending", "run/"], 0).says(&["run.new"]);
    // If it is not named, it is the recording beside the pending file.
    rerecord(&scene, &upstream, &["--pending", "run.pending"], 0).says(&["nothing to send"]);
    assert_eq!(scene.names(), [".git", "run", "run.new", "run.pending"]);
    assert_eq!(files(&scene), before);
    for named in ["run", "run/", "./run/."] {
        let told = scene.run(&["review", "--list", named, "--json"]).expect(0).stdout;
        let told = json(&told);
        assert_eq!(told["pending"], 1, "{named}: {told}");
        assert!(!told["files"][0]["new"].as_str().unwrap().contains("/.new"), "{told}");
        scene.run(&["review", named, "--check"]).expect(1);
        let told = scene.run(&["review", named]).expect(0).stdout;
        assert!(told.contains("two, changed") && told.contains("loomrec accept"), "{told}");
    }
    let told = scene.run(&["accept", "run/"]).expect(0).stdout;
    assert!(told.contains("next: git add run/"), "{told}");
    assert_eq!(scene.names(), [".git", "run"]);
    let after = files(&scene);
    let same = after.iter().filter(|file| before.contains(file)).count();
    assert_eq!((after.len(), same), (4, 3), "one file gave way to another");
    assert!(git(scene.dir(), &["add", "run/"]) && git(scene.dir(), &["commit", "-qm", "change"]));
    replayed(&scene, &[], &drifted(), 0);
    let mut count = Command::new("git");
    count.current_dir(scene.dir()).args(["diff", "--name-only", "--no-renames", "HEAD~"]);
    let changed = String::from_utf8(count.output().unwrap().stdout).unwrap();
    assert_eq!(changed.lines().count(), 2, "{changed}");
}

#[test]
fn rejected_change_leaves_the_folder_as_it_was() {
    let upstream = upstream();
    let scene = recorded(&upstream);
    let before = files(&scene);
    rerecord(&scene, &upstream, &["run/", "Plan/2", "--set", "/temperature=0"], 0);
    assert_eq!(scene.names(), ["run", "run.new"]);
    // From within the folder, and by its absolute path.
    let within =
        finish(&mut command(&scene.recording(), &["review", "--list", "."]), b"").expect(0);
    assert!(within.stdout.contains("2 changes wait"), "{}", within.stdout);
    let whole = scene.recording().display().to_string();
    scene.run(&["reject", &whole, "Plan/2#1"]).expect(0);
    let rest = finish(&mut command(&scene.recording(), &["reject", "."]), b"").expect(0);
    assert!(rest.stdout.contains("1 rejected"), "{}", rest.stdout);
    assert_eq!((scene.names(), files(&scene)), (vec!["run".to_owned()], before));
}

#[test]
fn nothing_is_written_among_the_entries_nor_a_folder_where_a_file_belongs() {
    let upstream = upstream();
    let scene = recorded(&upstream);
    scene.run(&["convert", "run/", "one.json"]).expect(0);
    let before = (scene.names(), files(&scene));
    let inside = "among the entries of run";
    for args in [
        &["replay", "-r", "run/", "--pending", "run/x.json", "--", "true"][..],
        &["rerecord", "run/", "--yes", "-o", "run/x.json"],
        &["merge", "-o", "run/x.json", "run/", "one.json"],
        &["convert", "run/", "run/x.json"],
        &["export", "run/", "--to", "har", "-o", "run/x.json"],
    ] {
        scene.run(args).expect(2).says(&["run/x.json", inside]);
    }
    fs::create_dir(scene.path("there")).unwrap();
    for place in ["made/", "there"] {
        for args in [
            &["replay", "-r", "run/", "--pending", place, "--", "true"][..],
            &["rerecord", "run/", "--yes", "-o", place],
            &["export", "run/", "--to", "har", "-o", place],
        ] {
            scene.run(args).expect(2).says(&[place, "names a folder"]);
        }
    }
    scene.run(&["import", "run/", "-o", "x.json"]).expect(2).says(&["is a folder"]);
    scene.run(&["merge", "--git", "run", "run", "run"]).expect(2).says(&["one by one"]);
    scene.run(&["score", "run/"]).expect(4).says(&["--journal"]);
    fs::remove_dir(scene.path("there")).unwrap();
    assert_eq!((scene.names(), files(&scene)), before);
}

#[test]
fn folders_are_compared_merged_and_converted_as_files_are() {
    let upstream = upstream();
    let scene = recorded(&upstream);
    scene.run(&["convert", "run/", "one.json"]).expect(0);
    scene.run(&["convert", "one.json", "two/"]).expect(0);
    for (one, other) in [("run/", "one.json"), ("one.json", "run"), ("run/", "two/")] {
        scene.run(&["diff", one, other]).expect(0);
    }
    let other = Scene::split();
    other.recorded(&upstream, &[chat("only there"), step(chat("again"), "Other")]);
    fs::rename(other.recording(), scene.path("other")).unwrap();
    let told = scene.run(&["diff", "run/", "other/"]).expect(1).stdout;
    assert!(told.contains("Other"), "{told}");
    scene.run(&["merge", "-o", "all/", "run/", "other", "one.json"]).expect(0);
    assert_eq!(names(&scene.path("all")).len(), 6);
    assert!(
        json(&scene.run(&["ls", "all/", "--json"]).expect(0).stdout).as_array().unwrap().len() == 7
    );
    // Into the first of them: its files do not change.
    let before = files(&scene);
    scene.run(&["merge", "-o", "run/", "run/", "other/"]).expect(0);
    let after = files(&scene);
    assert_eq!(after.len(), 6);
    assert!(before.iter().all(|file| after.contains(file)));
    scene.run(&["diff", "run/", "all/"]).expect(0);
    scene.run(&["verify", "run/", "all/", "two"]).expect(0);
}

#[test]
fn folders_are_pruned_redacted_and_told_the_age_of() {
    let upstream = upstream();
    let scene = recorded(&upstream);
    let receipt = scene.path("receipt.json");
    replayed(&scene, &["--receipt", receipt.to_str().unwrap()], &calls()[..3], 0);
    let before = files(&scene);
    let told = scene.run(&["prune", "run/", "--unused", "receipt.json"]).expect(0).stdout;
    assert!(told.contains("2 of 5 takes would be pruned") && files(&scene) == before, "{told}");
    scene.run(&["prune", "run/", "--unused", "receipt.json", "--apply"]).expect(0);
    let after = files(&scene);
    assert!(after.len() == 3 && after.iter().all(|file| before.contains(file)));
    let told = scene.run(&["redact", "run", "--redact", "tw", "--apply"]).expect(0).stdout;
    assert!(told.contains("1 of 3 takes redacted"), "{told}");
    assert_eq!(files(&scene).iter().filter(|file| after.contains(file)).count(), 2);
    replayed(&scene, &["--redact", "tw"], &calls()[..3], 0);
    let old = ["--max-age", "1s", "--on-expired", "fail"];
    std::thread::sleep(std::time::Duration::from_millis(1100));
    replayed(&scene, &[&old[..], &["--redact", "tw"]].concat(), &calls()[..3], 1)
        .says(&["takes recorded more than 1 s ago: 3"]);
    scene.run(&["verify", "run/"]).expect(0);
}

#[test]
fn folders_are_exported_and_imported_into() {
    let upstream = upstream();
    let scene = recorded(&upstream);
    scene.run(&["export", "run/", "--to", "har", "-o", "run.har"]).expect(0);
    scene.run(&["import", "run.har", "-o", "made/"]).expect(0);
    assert_eq!(names(&scene.path("made")), names(&scene.recording()));
    scene.run(&["import", "run.har", "-o", "made/"]).expect(2).says(&["made", "--force"]);
    let before = files(&scene);
    scene.run(&["import", "run.har", "--into", "run/"]).expect(0);
    let after = files(&scene);
    assert_eq!(after.len(), 7, "every hash has as many takes again");
    assert_eq!(before.iter().filter(|file| after.contains(file)).count(), 3);
    assert_eq!(scene.names(), ["made", "run", "run.har"]);
    scene.run(&["verify", "run/", "made/"]).expect(0);
}

#[test]
fn entry_that_memory_has_no_room_for_is_refused() {
    let scene = Scene::new();
    let words = "word ".repeat(16_000_000);
    let big = format!("{{\"_version\": 2, \"big\": {{\"content\": \"{words}\"}}}}");
    fs::write(scene.recording(), big).unwrap();
    scene.run(&["convert", "run.json", "big/"]).expect(0);
    let within = |args: &str| {
        let line = format!("ulimit -v 400000 && exec {} {args}", env!("CARGO_BIN_EXE_loomrec"));
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(scene.dir());
        finish(&mut shell, b"").expect(4)
    };
    for (recording, file) in [("run.json", "run.json"), ("big/", "big/big.json")] {
        for args in ["ls RECORDING", "diff RECORDING RECORDING", "convert RECORDING small.json"] {
            let ended = within(&args.replace("RECORDING", recording));
            ended.says(&[file, "an entry of 8000", "more memory"]);
        }
        let told = within(&format!("verify {recording}")).stdout;
        assert!(told.contains(file) && told.contains("more memory"), "{told}");
    }
    assert_eq!(scene.names(), ["big", "run.json"]);
}
