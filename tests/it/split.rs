//! Tests of a recording that is a folder: recorded by several processes that die, read by every
//! command, merged by git, and converted into one file and back.

mod care;
mod damage;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::chance::{Chance, rounds};
use crate::support::fleet::kill;
use crate::support::ledger::{beside, check, check_replay, mark, teller};
use crate::support::loomrec::{command, finish};
use crate::support::shape::{CHAT, chat, chat_answer, chat_body, message, message_answer};
use crate::support::swarm::call;
use crate::support::{Answer, Call, Scene, Server, Upstream};

/// Answers each call with its own words.
fn upstream() -> Upstream {
    Upstream::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let prompt = body["messages"][0]["content"].as_str().unwrap();
        match request.target.as_str() {
            "/v1/messages" => Answer::json(200, message_answer(prompt)),
            _ => Answer::json(200, chat_answer(prompt)),
        }
    })
}

fn step(call: Call, id: &str) -> Call {
    call.header(&format!("x-loomrec-step-id: {id}"))
}

/// The names in a folder, sorted.
fn names(path: &Path) -> Vec<String> {
    let files = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Two plain calls, one of them twice, and two turns of a step.
fn calls() -> Vec<Call> {
    vec![
        chat("one"),
        message("two"),
        chat("one"),
        step(chat("first turn"), "Plan/2"),
        step(chat("second turn"), "Plan/2"),
    ]
}

/// Makes this many calls to a recorder; returns the marks of its answers. Both recorders of a round
/// get the same calls, so that both record takes of one request.
fn ask(server: &Server, round: usize, calls: usize) -> BTreeSet<String> {
    let mut client = server.connect();
    let names = (0..calls).map(|number| format!("chat-{round}-{}", number % 7));
    names.map(|name| mark(&client.exchange(&call(&name)).expect(200).text()).unwrap()).collect()
}

#[test]
fn calls_of_several_processes_that_die_are_all_in_the_folder() {
    let (scene, upstream, mut chance) = (Scene::split(), teller(), Chance::new());
    let mut answered = BTreeSet::new();
    for round in 0..rounds(5, 50) {
        let (one, two) = (scene.record(&upstream, &[]), scene.record(&upstream, &[]));
        let (few, many) = (5 + chance.below(10), 20 + chance.below(20));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| ask(&two, round, many));
            answered.extend(ask(&one, round, few));
            // In the middle of the other's calls.
            kill(&one);
            answered.extend(other.join().unwrap());
        });
        if round % 2 == 0 {
            kill(&two);
            two.process.wait().expect(-9);
        } else {
            two.stop().expect(0);
        }
        one.process.wait().expect(-9);
        check(&scene, &answered);
    }
    let last = scene.record(&upstream, &[]);
    last.call(&call("chat-last")).expect(200);
    last.stop().expect(0);
    assert_eq!(beside(&scene), [""; 0], "something was left behind");
    let kept = check(&scene, &answered);
    check_replay(&scene, &kept);
}

#[test]
fn every_command_reads_a_folder() {
    let scene = Scene::split();
    scene.recorded(&upstream(), &calls());
    let files = names(&scene.recording());
    assert_eq!(files.len(), 4, "{files:?}");
    assert!(files.iter().any(|name| name.starts_with("Plan%2f2~")), "{files:?}");
    assert_eq!(scene.names(), ["run"]);
    let answers = scene.replayed(&["--strict"], &calls(), 0);
    assert!(answers.iter().all(|answer| answer.status == 200));
    // With and without the slash, and from within.
    for name in ["run/", "run", "./run/."] {
        let rows = scene.run(&["ls", name, "--json"]).expect(0).stdout;
        let rows: Vec<Value> = serde_json::from_str(&rows).unwrap();
        assert_eq!(rows.len(), 5, "{name}");
    }
    let shown = scene.run(&["show", "run/", "Plan/2#2"]).expect(0).stdout;
    assert!(shown.contains("second turn"), "{shown}");
    let summed = scene.run(&["stats", "run/", "--json"]).expect(0).stdout;
    assert!(summed.contains("\"calls\": 5") || summed.contains("\"calls\":5"), "{summed}");
    scene.run(&["convert", "run/", "run.json"]).expect(0);
    scene.run(&["diff", "run.json", "run/"]).expect(0);
    scene.run(&["doctor", "run/"]).expect(0);
    let text = scene.run(&["show", "--text", "run/"]).expect(0).stdout;
    assert_eq!(text, scene.run(&["show", "--text", "run.json"]).expect(0).stdout);
    // Each file is a recording by itself.
    for name in &files {
        scene.run(&["ls", &format!("run/{name}")]).expect(0);
    }
}

#[test]
fn folder_becomes_the_very_file_it_was_made_of() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &calls());
    let text = scene.text();
    let told = scene.run(&["convert", "run.json", "split/"]).expect(0).stdout;
    assert_eq!(told, "run.json -> split/: 5 calls of 3 requests and steps\n");
    scene.run(&["convert", "split", "back.json"]).expect(0);
    assert_eq!(fs::read_to_string(scene.path("back.json")).unwrap(), text);
    let refused = scene.run(&["convert", "split/", "back.json"]).expect(2);
    assert!(refused.stderr.contains("back.json") && refused.stderr.contains("--force"));
    scene.run(&["convert", "run.json", "split"]).expect(2).says(&["split", "--force"]);
    scene.run(&["convert", "--force", "run.json", "split"]).expect(0);
    scene.run(&["convert", "split/", "back.json", "--force"]).expect(0);
    assert_eq!(fs::read_to_string(scene.path("back.json")).unwrap(), text);
    // A file from another program, not in the order of time, has the same entries.
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut members: Vec<_> = json.as_object().unwrap().iter().collect();
    members[2..].reverse();
    let reversed: serde_json::Map<_, _> =
        members.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    fs::write(scene.path("odd.json"), Value::from(reversed).to_string()).unwrap();
    scene.run(&["convert", "odd.json", "odd/"]).expect(0);
    scene.run(&["convert", "odd/", "even.json"]).expect(0);
    assert_eq!(fs::read_to_string(scene.path("even.json")).unwrap(), text);
    scene.run(&["convert", "run.json", "nowhere/at/all/"]).expect(5).says(&["nowhere"]);
    scene.run(&["convert", "missing.json", "x.json"]).expect(4).says(&["missing.json"]);
}

fn git(dir: &Path, args: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(dir).args(args).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir);
    for (name, value) in [("NAME", "t"), ("EMAIL", "t@example.com")] {
        git.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    git.output().unwrap().status.success()
}

#[test]
fn branches_that_recorded_into_one_folder_merge_without_a_driver() {
    let (scene, upstream) = (Scene::split(), upstream());
    scene.recorded(&upstream, &[chat("base")]);
    for args in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "base"]] {
        assert!(git(scene.dir(), args), "{args:?}");
    }
    for branch in ["one", "two"] {
        assert!(git(scene.dir(), &["checkout", "-q", "-b", branch, "main"]));
        scene.recorded(&upstream, &[chat(branch), step(chat("again"), branch)]);
        assert!(git(scene.dir(), &["add", "-A"]) && git(scene.dir(), &["commit", "-qm", branch]));
    }
    assert!(git(scene.dir(), &["merge", "-q", "--no-edit", "one"]), "it is a plain merge");
    let all = [
        chat("base"),
        chat("one"),
        chat("two"),
        step(chat("again"), "one"),
        step(chat("again"), "two"),
    ];
    let answers = scene.replayed(&["--strict"], &all, 0);
    assert!(answers.iter().all(|answer| answer.status == 200));
}

#[test]
fn receipt_tells_the_folder_by_the_hashes_of_its_files() {
    let scene = Scene::split();
    scene.recorded(&upstream(), &calls());
    scene.replayed(&["--receipt", "receipt.json"], &[chat("one")], 0);
    let receipt: Value =
        serde_json::from_slice(&fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    let sum = "LC_ALL=C; export LC_ALL; cd run && sha256sum *.json | sha256sum";
    let sum = Command::new("sh").args(["-c", sum]).current_dir(scene.dir()).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    assert_eq!(receipt["recordings"][0]["sha256"], sum.split(' ').next().unwrap());
    let mut args = scene.replay_args(&["--receipt", "run/receipt.json"]);
    args.extend(["--", "true"].map(Into::into));
    let refused = finish(&mut command(scene.dir(), &args), b"").expect(2);
    assert!(refused.stderr.contains("run/receipt.json"), "{}", refused.stderr);
}

#[test]
fn rules_of_a_folder_hold_for_who_comes_next() {
    let (scene, upstream) = (Scene::split(), upstream());
    let server = scene.record(&upstream, &["--ignore", "/user"]);
    server.call(&chat("hello")).expect(200);
    server.stop().expect(0);
    let mut body = chat_body("hello");
    body["user"] = "someone".into();
    let call = Call::post(CHAT, body.to_string());
    assert_eq!(scene.replayed(&["--strict"], &[call], 0)[0].status, 200);
    let mut args = scene.record_args(&upstream.url(), &["--ignore", "/seed", "--"]);
    args.push("true".into());
    finish(&mut command(scene.dir(), &args), b"").expect(2).says(&["/seed", "/user"]);
}

/// Runs `ls` on the folder with less memory than the size of its largest file.
fn bounded(scene: &Scene, code: i32) -> String {
    let binary = env!("CARGO_BIN_EXE_loomrec");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -v 1000000; {binary} ls run/")]).current_dir(scene.dir());
    finish(&mut shell, b"").expect(code).stderr
}

#[test]
fn hostile_folders_are_refused_by_name_and_place() {
    let hurt: [fn(&Path); 8] = [
        |path| symlink("x.json", path).unwrap(),
        |path| symlink("../nowhere", path).unwrap(),
        |path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        },
        |path| fs::create_dir(path).unwrap(),
        |path| fs::write(path, "").unwrap(),
        |path| fs::write(path, "[".repeat(100_000)).unwrap(),
        |path| {
            let deep = format!("{{\"a\": {}{}}}", "{\"b\":".repeat(100_000), "}".repeat(100_000));
            fs::write(path, deep).unwrap();
        },
        |path| fs::File::create(path).unwrap().set_len(1 << 30).unwrap(),
    ];
    for (number, hurt) in hurt.into_iter().enumerate() {
        let scene = Scene::split();
        scene.recorded(&upstream(), &[chat("one")]);
        hurt(&scene.recording().join("x.json"));
        let before = names(&scene.recording());
        let told = bounded(&scene, 4);
        assert!(told.contains("run/x.json"), "{number}: {told}");
        let replayed = finish(&mut command(scene.dir(), &scene.replay_args(&["--", "true"])), b"");
        replayed.expect(4).says(&["run/x.json"]);
        assert_eq!(names(&scene.recording()), before, "{number}");
    }
}

#[test]
fn steps_of_any_name_stay_in_the_folder() {
    let scene = Scene::split();
    let ids = ["../../x", "..", "/tmp/x", "con", "A", "a", "x%2e"];
    let calls: Vec<Call> = ids.iter().map(|id| step(chat(id), id)).collect();
    scene.recorded(&upstream(), &calls);
    assert_eq!(scene.names(), ["run"]);
    assert_eq!(names(&scene.recording()).len(), ids.len());
    scene.replayed(&["--strict"], &calls, 0);
    // The names of the files do not matter, only the keys in them.
    for (number, name) in names(&scene.recording()).into_iter().enumerate() {
        let to = scene.recording().join(format!("{number}.json"));
        fs::rename(scene.recording().join(name), to).unwrap();
    }
    scene.replayed(&["--strict"], &calls, 0);
}

#[test]
fn folder_is_made_by_its_slash_and_a_file_is_none() {
    let scene = Scene::new();
    let upstream = upstream();
    let base = format!("openai={}", upstream.url());
    let server = Server::start(scene.dir(), &["record", "-r", "made/here/", "--upstream", &base]);
    server.call(&chat("hello")).expect(200);
    server.stop().expect(0);
    assert_eq!(names(&scene.path("made")), [".loomrec", "here"]);
    assert_eq!(names(&scene.path("made/here")).len(), 1);
    scene.run(&["ls", "made"]).expect(4).says(&["made"]);
    fs::write(scene.path("plain.json"), "{}").unwrap();
    scene.run(&["ls", "plain.json/"]).expect(2).says(&["plain.json", "it is a file"]);
    let refused = scene.run(&["record", "-r", "plain.json/", "--upstream", &base, "--", "true"]);
    refused.expect(2).says(&["it is a file"]);
}

#[test]
fn folder_of_other_files_is_recorded_into_only_when_named_as_a_folder() {
    let (scene, upstream) = (Scene::new(), upstream());
    let base = format!("openai={}", upstream.url());
    let into = |folder: &str| ["record", "-r", folder, "--upstream", &base].map(str::to_owned);
    let other = recorded_text(&upstream);
    for (folder, file) in [("recs", "a.json"), ("notes", "notes.txt"), ("sub", "more/x")] {
        fs::create_dir_all(scene.path(folder).join(file).parent().unwrap()).unwrap();
        fs::write(scene.path(folder).join(file), &other).unwrap();
        let before = names(&scene.path(folder));
        for more in [&["--mode", "all"], &["--mode", "once"]] {
            let args = [&into(folder)[..], &more.map(str::to_owned)].concat();
            let args: Vec<&str> = args.iter().map(String::as_str).chain(["--", "true"]).collect();
            let told = format!("{folder} is a folder that holds other files");
            scene.run(&args).expect(2).says(&[&told, &format!("-r {folder}/ to record")]);
        }
        assert_eq!(names(&scene.path(folder)), before);
    }
    // An empty one, one that is a recording, and one with a slash.
    fs::create_dir(scene.path("empty")).unwrap();
    fs::write(scene.path("empty/.gitkeep"), "").unwrap();
    for folder in ["empty", "empty", "notes/"] {
        let server = Server::start(scene.dir(), &into(folder));
        server.call(&chat("hello")).expect(200);
        server.stop().expect(0);
        assert_eq!(names(&scene.path(folder)).len(), 2);
    }
}

/// The text of a recording with one call.
fn recorded_text(upstream: &Upstream) -> String {
    let scene = Scene::new();
    scene.recorded(upstream, &[chat("hello")]);
    scene.text()
}
