//! Tests of a full disk and of a folder that disappears: traffic goes on, the error is reported
//! with its remedy, and recording resumes when the cause is gone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::chance::skipped;
use crate::support::ledger::{check, check_replay, mark, teller};
use crate::support::swarm::call;
use crate::support::{Scene, Server};

/// A separate file system that is so small that it can be filled.
struct SmallDisk {
    /// Removed after the file system on it.
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts it, if this user may.
    fn mount(test: &str) -> Option<Self> {
        let folder = tempfile::TempDir::with_prefix("loomrec-disk-").unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m,mode=700", "loomrec-test"]).arg(folder.path());
        let done = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if done.is_ok_and(|status| status.success()) {
            return Some(Self { folder });
        }
        skipped(test, "it mounts a small tmpfs, which this user may not");
        None
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills all free space; removing the file frees it again.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("ballast");
        let mut file = File::create(&path).unwrap();
        for size in [4096, 512, 1] {
            let block = vec![b'x'; size];
            while file.write_all(&block).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Makes calls one after the other, checks each answer byte for byte, and returns their marks.
fn calls(server: &Server, name: &str, count: usize) -> Vec<String> {
    let one = |n| {
        let text = server.call(&call(&format!("chat-{name}{n}-x3000"))).expect(200).text();
        let mark = mark(&text).unwrap();
        assert_eq!(text, crate::support::shape::chat_answer(&format!("<<{mark}>>")));
        mark
    };
    (0..count).map(one).collect()
}

fn receipt(scene: &Scene) -> Value {
    serde_json::from_slice(&fs::read(scene.path("receipt.json")).unwrap()).unwrap()
}

/// The lines that report an exchange that was not kept.
fn complaints(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.contains("NOT in the recording")).collect()
}

#[test]
fn a_full_disk_stops_no_traffic_and_recording_resumes_when_there_is_space() {
    let Some(disk) = SmallDisk::mount("a_full_disk_stops_no_traffic") else { return };
    let (scene, upstream) = (Scene::within(disk.path()), teller());
    let elsewhere = Scene::new();
    let receipt_path = elsewhere.path("receipt.json");
    let mut server = scene.record(&upstream, &["--receipt", receipt_path.to_str().unwrap()]);
    let before = calls(&server, "before", 5);
    let ballast = disk.fill();
    // The free space in the log's last block may be enough for a call or two.
    let during = calls(&server, "during", 40);
    server.process.wait_for("No space left");
    fs::remove_file(&ballast).unwrap();
    let after = calls(&server, "after", 5);
    let said = server.stop().expect(5).stderr;
    let complaints = complaints(&said);
    assert_eq!(complaints.len(), 1, "{said}");
    assert!(complaints[0].contains("space") && complaints[0].contains("run.json"), "{said}");
    let receipt = receipt(&elsewhere);
    let count = |name: &str| receipt[name].as_u64().unwrap() as usize;
    assert_eq!(count("recorded") + count("not_kept"), 50, "{receipt}");
    assert!(count("not_kept") >= 30, "{receipt}");
    assert!(said.contains(&format!("{} exchanges are NOT in", count("not_kept"))), "{said}");
    let kept = check(&scene, &before.iter().chain(&after).cloned().collect());
    assert_eq!(kept.len(), count("recorded"), "{} during, {receipt}", during.len());
    check_replay(&scene, &kept);
    assert_eq!(scene.names(), ["run.json"]);
}

#[test]
fn a_journal_on_a_full_disk_stops_no_traffic_and_goes_on_when_there_is_space() {
    let Some(disk) = SmallDisk::mount("a_journal_on_a_full_disk") else { return };
    let (scene, upstream) = (Scene::new(), teller());
    let path = disk.path().join("run.jsonl");
    let mut server = scene.record(&upstream, &["--journal", path.to_str().unwrap()]);
    let lines = || fs::read_to_string(&path).unwrap();
    calls(&server, "before", 5);
    while lines().lines().count() < 5 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let ballast = disk.fill();
    calls(&server, "during", 40);
    server.process.wait_for("traffic goes on: No space left");
    fs::remove_file(&ballast).unwrap();
    calls(&server, "after", 5);
    let said = server.stop().expect(0).stderr;
    let text = lines();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, lines) = lines.split_last().unwrap();
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(numbers.starts_with(&[1, 2, 3, 4, 5]) && numbers.ends_with(&[50]), "{numbers:?}");
    let lost = 50 - numbers.len();
    assert!(lost > 0, "{numbers:?}");
    // The last line reports it.
    assert_eq!((&last["outcome"], &last["lines"]), (&"skipped".into(), &lost.into()));
    assert!(said.contains(&format!("the journal is not whole: {lost} lines are lost")), "{said}");
}

#[test]
fn a_disk_too_full_to_fold_loses_nothing_of_the_log() {
    let Some(disk) = SmallDisk::mount("a_disk_too_full_to_fold") else { return };
    let (scene, upstream) = (Scene::within(disk.path()), teller());
    let server = scene.record(&upstream, &[]);
    let kept = calls(&server, "call", 20);
    let ballast = disk.fill();
    let said = server.stop().expect(5).stderr;
    assert!(said.contains("No space left") && said.contains("run.json"), "{said}");
    fs::remove_file(ballast).unwrap();
    check(&scene, &kept.into_iter().collect());
}

#[test]
fn a_disk_that_is_full_at_the_start_is_said_before_any_traffic() {
    let Some(disk) = SmallDisk::mount("a_disk_that_is_full_at_the_start") else { return };
    let (scene, upstream) = (Scene::within(disk.path()), teller());
    disk.fill();
    let mut args = scene.record_args(&upstream.url(), &[]);
    args.extend(["--".into(), "true".into()]);
    let said = crate::support::run(scene.dir(), &args);
    // Empty files can still be created, so the start may succeed.
    assert!([0, 5].contains(&said.code), "{said:?}");
    assert!(!said.stderr.contains("panicked"), "{}", said.stderr);
}

#[test]
fn a_folder_that_goes_away_and_comes_back_is_recorded_into_again() {
    let (scene, upstream) = (Scene::new(), teller());
    let (home, away) = (scene.path("home"), scene.path("away"));
    fs::create_dir(&home).unwrap();
    let inner = Scene::within(&home);
    let receipt_path = scene.path("receipt.json");
    let mut server = inner.record(&upstream, &["--receipt", receipt_path.to_str().unwrap()]);
    let before = calls(&server, "before", 3);
    fs::rename(&home, &away).unwrap();
    let lost = calls(&server, "during", 3).len();
    server.process.wait_for("NOT in the recording");
    fs::rename(&away, &home).unwrap();
    let after = calls(&server, "after", 3);
    let said = server.stop().expect(5).stderr;
    let complaints = complaints(&said);
    // Each cause is reported once. The missing folder may be noticed at the lock or at the run's
    // own file.
    let causes: BTreeSet<_> = complaints.iter().collect();
    assert!(causes.len() == complaints.len() && (1..=2).contains(&causes.len()), "{said}");
    assert!(complaints.iter().all(|complaint| complaint.contains("No such file")), "{said}");
    let receipt = receipt(&scene);
    assert_eq!(receipt["not_kept"], lost, "{receipt}");
    let noted: BTreeSet<String> = before.into_iter().chain(after).collect();
    assert_eq!(check(&inner, &noted), noted);
    assert_eq!(inner.names(), ["run.json"]);
}

#[test]
fn a_limit_of_file_sizes_is_a_write_that_fails_and_not_the_end() {
    let (scene, upstream) = (Scene::new(), teller());
    let receipt_path = scene.path("receipt.json");
    let mut args = scene.record_args(&upstream.url(), &["--listen", "127.0.0.1:0"]);
    args.extend(["--receipt".into(), receipt_path.into()]);
    let mut shell = std::process::Command::new("sh");
    // In blocks of 512 or 1024 bytes: of the files beside a recording, only the log is so large.
    shell.args(["-c", r#"ulimit -f 16; exec "$0" "$@""#, env!("CARGO_BIN_EXE_loomrec")]);
    shell.args(args).current_dir(scene.dir());
    let server = Server::spawn(&mut shell);
    let marks = calls(&server, "call", 20);
    let said = server.stop().expect(5).stderr;
    assert!(said.contains("ulimit -f"), "{said}");
    assert!(receipt(&scene)["not_kept"].as_u64().unwrap() > 0, "{}", receipt(&scene));
    let kept = check(&scene, &BTreeSet::new());
    assert!(kept.len() < marks.len() && kept.iter().all(|mark| marks.contains(mark)), "{kept:?}");
}

#[test]
fn a_wrapped_command_has_the_systems_own_limit_of_file_sizes() {
    let scene = Scene::new();
    let mut args = scene.record_args("http://127.0.0.1:9", &["--"]);
    let show = "grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status";
    args.extend(["sh".into(), "-c".into(), show.into()]);
    let done = crate::support::run(scene.dir(), &args);
    let masks: Vec<u64> = done
        .stdout
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_once(':')?.1.trim(), 16).ok())
        .collect();
    assert_eq!(masks.len(), 3, "{done:?}");
    let limit = 1 << (rustix::process::Signal::XFSZ.as_raw() - 1);
    assert!(masks.iter().all(|mask| mask & limit == 0), "{}", done.stdout);
}
