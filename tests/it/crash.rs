//! Tests of recorders that are killed at any moment: nothing that a client received completely is
//! lost, and nothing is kept twice.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::chance::{Chance, rounds};
use crate::support::fleet::{Fleet, kill};
use crate::support::gate::PATIENCE;
use crate::support::ledger::{beside, check, check_replay, kept, listed, merged, teller};
use crate::support::loomrec::{Process, command};
use crate::support::swarm::{Habit, Swarm, call};
use crate::support::{Client, Scene};

/// Sleeps for a random time, less than this many microseconds.
fn a_moment(chance: &mut Chance, microseconds: usize) {
    std::thread::sleep(Duration::from_micros(chance.below(microseconds) as u64));
}

/// Runs a recorder that ends normally, so that the files of killed ones are cleaned up.
fn tidy(scene: &Scene, upstream: &crate::support::Upstream) {
    let server = scene.record(upstream, &[]);
    server.call(&call("chat-last")).expect(200);
    server.stop().expect(0);
    assert_eq!(beside(scene), [""; 0], "something was left behind");
}

#[test]
fn nothing_answered_is_lost_when_one_of_several_recorders_is_killed() {
    let (scene, upstream, mut chance) = (Scene::new(), teller(), Chance::new());
    let swarm = Swarm::start(3, Habit::default(), &mut chance);
    let mut fleet = Fleet::start(&scene, &upstream, &[], 3, &swarm);
    let mut calls = 0;
    for _ in 0..rounds(8, 80) {
        calls += 20 + chance.below(60);
        swarm.ledger.wait_for(calls);
        a_moment(&mut chance, 3000);
        fleet.replace(chance.below(3), &swarm);
        calls = calls.max(swarm.ledger.len());
    }
    swarm.ledger.wait_for(calls + 30);
    let ledger = swarm.ledger.clone();
    swarm.stop();
    fleet.stop();
    assert_eq!(beside(&scene), [""; 0], "something was left behind");
    let kept = check(&scene, &ledger.marks());
    check_replay(&scene, &kept);
}

#[test]
fn nothing_answered_is_lost_when_all_recorders_are_killed_at_once() {
    let (scene, upstream, mut chance) = (Scene::new(), teller(), Chance::new());
    let swarm = Swarm::start(3, Habit::default(), &mut chance);
    let mut fleet = Fleet::start(&scene, &upstream, &[], 3, &swarm);
    let mut calls = 0;
    for round in 0..rounds(5, 50) {
        calls += 20 + chance.below(100);
        swarm.ledger.wait_for(calls);
        a_moment(&mut chance, 3000);
        fleet.kill_all();
        // In every other round the next recorder finds the files of the killed ones; else `verify
        // --fix` does.
        if round % 2 == 0 {
            check(&scene, &swarm.ledger.marks());
        }
        calls = calls.max(swarm.ledger.len());
        fleet.restart(3, &swarm);
    }
    swarm.ledger.wait_for(calls + 30);
    fleet.kill_all();
    let ledger = swarm.ledger.clone();
    swarm.stop();
    tidy(&scene, &upstream);
    let kept = check(&scene, &ledger.marks());
    check_replay(&scene, &kept);
}

#[test]
fn nothing_answered_is_lost_when_a_recorder_is_killed_while_it_ends() {
    let (scene, upstream, mut chance) = (Scene::new(), teller(), Chance::new());
    let swarm = Swarm::start(1, Habit::default(), &mut chance);
    let (mut calls, mut killed) = (0, 0);
    for run in 0..rounds(12, 120) {
        let server = scene.record(&upstream, &[]);
        swarm.seat(0, server.address, run);
        calls = calls.max(swarm.ledger.len()) + 10 + chance.below(20);
        swarm.ledger.wait_for(calls);
        server.process.signal("INT");
        // The first is killed at once, later ones at any moment while they end or after that.
        a_moment(&mut chance, 1 + 2_000 * run);
        kill(&server);
        let code = server.process.wait().code;
        assert!([0, -9].contains(&code), "{code}");
        killed += usize::from(code == -9);
    }
    assert!(killed > 0, "each ended before it was killed");
    let ledger = swarm.ledger.clone();
    swarm.stop();
    tidy(&scene, &upstream);
    let kept = check(&scene, &ledger.marks());
    check_replay(&scene, &kept);
}

/// A recording of many entries, so that compaction takes a while.
fn large(scene: &Scene, entries: usize) {
    let mut text = String::from("{\n  \"_version\": 2");
    for n in 0..entries {
        let content = format!("<<chat-old{n} => {n}>> {}", "what was said ".repeat(40));
        text.push_str(&format!(",\n  \"old-{n}\": {{\n    \"content\": \"{content}\"\n  }}"));
    }
    scene.write(text + "\n}\n");
}

/// Runs a command until its compaction shows in the folder, and kills it a moment later. Returns
/// whether the kill ended it.
fn killed_while_folding(scene: &Scene, args: &[OsString], chance: &mut Chance) -> bool {
    let mut process = Process::spawn(&mut command(scene.dir(), args));
    let until = Instant::now() + PATIENCE;
    while !is_folding(scene.dir()) {
        if process.has_ended() || Instant::now() > until {
            return false;
        }
    }
    a_moment(chance, 40_000);
    process.signal("KILL");
    process.wait().code == -9
}

/// Whether a temporary file is being written for the recording.
fn is_folding(folder: &Path) -> bool {
    let hidden = std::fs::read_dir(folder.join(".loomrec")).into_iter().flatten();
    let names = std::fs::read_dir(folder).unwrap().chain(hidden);
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    names.map(name).any(|name| name.to_string_lossy().ends_with(".loomrec-tmp"))
}

#[test]
fn a_kill_while_folding_leaves_the_old_file_or_the_new_one() {
    const OLD: usize = 20_000;
    const NEW: usize = 20;
    let (scene, upstream, mut chance) = (Scene::new(), teller(), Chance::new());
    large(&scene, OLD);
    let old = scene.text();
    let mut killed = 0;
    for round in 0..rounds(4, 40) {
        scene.write(&old);
        let server = scene.record(&upstream, &[]);
        let mut client = Client::connect(server.address);
        for n in 0..NEW {
            client.exchange(&call(&format!("chat-round{round}-call{n}"))).expect(200);
        }
        kill(&server);
        server.process.wait().expect(-9);
        let log = std::fs::read(scene.hidden(".log")).unwrap();
        // The next recorder merges what the killed ones left before it listens.
        let args = scene.record_args(&upstream.url(), &["--listen", "127.0.0.1:0"]);
        killed += usize::from(killed_while_folding(&scene, &args, &mut chance));
        // In any state, the file is whole and its contents are unambiguous.
        let takes = scene.takes().len();
        assert!([OLD, OLD + NEW].contains(&takes), "{takes} takes: neither old nor new");
        assert_eq!(listed(&scene), OLD + NEW);
        scene.record(&upstream, &[]).stop().expect(0);
        let text = scene.text();
        // Compacting the same log again changes nothing.
        for suffix in [".log", ".folding"] {
            std::fs::write(scene.planted(suffix), &log).unwrap();
            assert_eq!((listed(&scene), scene.text()), (OLD + NEW, text.clone()));
            scene.record(&upstream, &[]).stop().expect(0);
            assert_eq!((listed(&scene), scene.text()), (OLD + NEW, text.clone()));
        }
        assert!(!scene.hidden(".folding").exists(), "a leftover was not folded");
    }
    assert!(killed > 0, "no fold was caught in the act");
    let leftovers = beside(&scene).into_iter().filter(|name| name.ends_with("tmp")).count();
    assert!(leftovers <= 1, "{:?}", beside(&scene));
}

#[test]
fn every_place_where_a_fold_can_die_reads_the_same() {
    let (scene, upstream) = (Scene::new(), teller());
    let calls: Vec<_> = (0..3).map(|n| call(&format!("chat-call{n}"))).collect();
    // The same calls in the same run are further takes, so that compacting twice would show.
    let record = || {
        let server = scene.record(&upstream, &["--run", "one"]);
        calls.iter().for_each(|call| drop(server.call(call).expect(200)));
        server
    };
    record().stop().expect(0);
    let old = scene.text();
    let server = record();
    kill(&server);
    server.process.wait().expect(-9);
    let log = std::fs::read(scene.hidden(".log")).unwrap();
    assert_eq!(listed(&scene), 6);
    merged(&scene);
    let (new, marks) = (scene.text(), kept(&scene));
    assert_eq!(marks.len(), 6);
    // The files beside the recording after each step: the log, and the log that is being compacted.
    for (step, text, beside) in [
        ("before the log is renamed", &old, &[".log"][..]),
        ("before the file is replaced", &old, &[".folding"]),
        ("after the file was replaced", &new, &[".folding"]),
        ("while another log was begun", &old, &[".folding", ".log"]),
        ("while another log was begun, after the file was replaced", &new, &[".folding", ".log"]),
        ("after everything", &new, &[]),
    ] {
        let scene = Scene::new();
        scene.write(text);
        scene.planted("");
        beside.iter().for_each(|suffix| std::fs::write(scene.planted(suffix), &log).unwrap());
        std::fs::write(scene.path(".loomrec/.run.json.abc.loomrec-tmp"), &new[..new.len() / 2])
            .unwrap();
        assert_eq!((listed(&scene), &scene.text()), (6, text), "{step}");
        merged(&scene);
        check_replay(&scene, &marks);
        assert_eq!(scene.text(), new, "{step}");
        for suffix in [".log", ".folding"] {
            let left = std::fs::metadata(scene.hidden(suffix));
            let gone = left.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
            assert!(gone || left.unwrap().len() == 0, "{step}: {suffix} is still there");
        }
    }
}
