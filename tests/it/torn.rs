//! Tests of logs with a torn or damaged tail: all whole frames are kept, the rest is set aside and
//! reported.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use crate::support::chance::rounds;
use crate::support::fleet::kill;
use crate::support::ledger::{check, kept, listed, mark, teller};
use crate::support::swarm::call;
use crate::support::{Finished, Scene};

/// The log of a killed recorder, and where its frames end.
struct Log {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    marks: Vec<String>,
}

impl Log {
    /// The log of this many calls. If a recorder was delayed for long, it may have compacted the
    /// log; then another is made.
    fn of(calls: usize) -> Self {
        (0..9).find_map(|_| Self::try_of(calls)).expect("each log was folded before it was done")
    }

    fn try_of(calls: usize) -> Option<Self> {
        let (scene, upstream) = (Scene::new(), teller());
        let server = scene.record(&upstream, &[]);
        let mut client = server.connect();
        let (mut ends, mut marks) = (Vec::new(), Vec::new());
        for n in 0..calls {
            let answer = client.exchange(&call(&format!("chat-call{n}"))).expect(200);
            marks.push(mark(&answer.text()).unwrap());
            ends.push(std::fs::metadata(scene.hidden(".log")).ok()?.len() as usize);
        }
        kill(&server);
        server.process.wait().expect(-9);
        let bytes = std::fs::read(scene.hidden(".log")).ok()?;
        let grows = ends.is_sorted_by(|a, b| a < b) && ends.last() == Some(&bytes.len());
        grows.then_some(Self { bytes, ends, marks })
    }

    /// The range of the last frame.
    fn last(&self) -> std::ops::Range<usize> {
        let ends = &self.ends;
        ends[ends.len() - 2]..ends[ends.len() - 1]
    }

    /// Positions in the last frame: all in its head and at its end, and some between.
    fn places(&self, stride: usize) -> Vec<usize> {
        let (last, stride) = (self.last(), rounds(stride, 1));
        let near = |at: &usize| at - last.start < 24 || last.end - at < 4;
        last.clone().filter(|at| near(at) || (at - last.start) % stride == 0).collect()
    }
}

/// A folder after a crash: a log with these bytes, and nothing else.
fn crashed(log: &[u8]) -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.planted(".log"), log).unwrap();
    scene
}

/// The torn tails beside the recording.
fn torn(scene: &Scene) -> Vec<PathBuf> {
    let names = scene.names().into_iter();
    names
        .filter(|name| name.starts_with("run.json.log.torn-"))
        .map(|name| scene.path(".loomrec").join(name))
        .collect()
}

/// Merges leftover files, after checking that `ls` changes nothing.
fn fixed(scene: &Scene) -> Finished {
    let before = scene.files();
    scene.run(&["ls", "run.json"]).expect(0);
    assert!(scene.files() == before, "ls has changed something: {:?}", scene.names());
    let done = scene.run(&["verify", "--fix", "run.json"]);
    assert!([0, 1].contains(&done.code), "{done:?}");
    let mended = done.stdout.lines().filter(|line| line.contains("fixed: "));
    Finished { stdout: mended.collect::<Vec<_>>().join("\n"), ..done }
}

/// Asserts that there is one torn tail with exactly these bytes, which stderr names once.
#[track_caller]
fn expect_aside(scene: &Scene, said: &str, bytes: &[u8], what: &str) {
    let torn = torn(scene);
    assert_eq!(torn.len(), 1, "{what}: {:?}", scene.names());
    assert!(std::fs::read(&torn[0]).unwrap() == bytes, "{what}: other bytes are aside");
    let name = torn[0].file_name().unwrap().to_str().unwrap();
    assert_eq!(said.matches(name).count(), 1, "{what}: {said}");
}

#[test]
fn every_whole_frame_is_kept_of_a_log_that_was_cut_anywhere() {
    let log = Log::of(3);
    let last = log.last();
    for cut in log.places(23) {
        let scene = crashed(&log.bytes[..cut]);
        let said = fixed(&scene).expect(0).stdout;
        assert_eq!(listed(&scene), 2, "cut at {cut} of {last:?}");
        if cut > last.start {
            expect_aside(&scene, &said, &log.bytes[last.start..cut], &format!("cut at {cut}"));
        } else {
            assert!(torn(&scene).is_empty(), "{:?}", scene.names());
        }
        assert_eq!(kept(&scene).len(), 2);
    }
    let scene = crashed(&log.bytes);
    assert!(!fixed(&scene).stdout.contains("torn"));
    assert_eq!((listed(&scene), kept(&scene).len()), (3, 3));
}

#[test]
fn a_frame_with_a_flipped_bit_is_not_believed() {
    let log = Log::of(3);
    let last = log.last();
    for at in log.places(37) {
        let mut bytes = log.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let scene = crashed(&bytes);
        let said = fixed(&scene).stdout;
        let kept: Vec<String> = kept(&scene).into_iter().collect();
        assert_eq!(kept, log.marks[..2], "flipped at {at} of {last:?}");
        expect_aside(&scene, &said, &bytes[last.start..], &format!("flipped at {at}"));
    }
}

#[test]
fn what_follows_a_damaged_frame_is_kept_or_put_aside() {
    let log = Log::of(4);
    let mut bytes = log.bytes.clone();
    bytes[log.ends[0] + 40] ^= 0x10;
    let scene = crashed(&bytes);
    let said = fixed(&scene);
    let kept = kept(&scene);
    assert!(kept.contains(&log.marks[0]) && !kept.contains(&log.marks[1]), "{kept:?}");
    let aside = std::fs::read(&torn(&scene)[0]).unwrap();
    let aside = String::from_utf8_lossy(&aside).into_owned();
    for mark in &log.marks[2..] {
        assert!(kept.contains(mark) || aside.contains(mark), "{mark} is nowhere: {}", said.stdout);
    }
}

#[test]
fn a_torn_tail_is_not_in_the_way_of_the_next_recorder() {
    let (log, upstream) = (Log::of(3), teller());
    let scene = crashed(&log.bytes[..log.bytes.len() - 5]);
    let server = scene.record(&upstream, &[]);
    server.call(&call("chat-after")).expect(200);
    let said = server.stop().expect(0);
    expect_aside(&scene, &said.stderr, &log.bytes[log.last().start..log.bytes.len() - 5], "record");
    let kept = kept(&scene);
    assert_eq!(kept.len(), 3);
    assert!(log.marks[..2].iter().all(|mark| kept.contains(mark)));
}

#[test]
fn a_torn_tail_of_a_dead_recorder_is_cut_by_one_that_lives() {
    let (torn_frame, scene, upstream) = (Log::of(2), Scene::new(), teller());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    let mut marks = Vec::new();
    // As another recorder would leave it if it was killed while it wrote. If this one has just
    // compacted, there is no log to tear, and it is tried again.
    let half = loop {
        let name = format!("chat-before{}", marks.len());
        marks.push(mark(&client.exchange(&call(&name)).expect(200).text()).unwrap());
        let half = &torn_frame.bytes[torn_frame.last()][..200];
        let log = OpenOptions::new().append(true).open(scene.hidden(".log"));
        if let Ok(mut log) = log
            && log.write_all(half).is_ok()
        {
            break half;
        }
        assert!(marks.len() < 1000, "there is never a log");
    };
    for n in 0..2 {
        let answer = client.exchange(&call(&format!("chat-after{n}"))).expect(200);
        marks.push(mark(&answer.text()).unwrap());
    }
    let said = server.stop().expect(0);
    let kept = check(&scene, &marks.iter().cloned().collect());
    assert_eq!(kept.len(), marks.len());
    expect_aside(&scene, &said.stderr, half, "while recording");
}

#[test]
fn a_damaged_byte_in_a_live_log_is_counted_as_a_call_that_was_not_kept() {
    const CALLS: usize = 20;
    for damaged in [0, 9, CALLS - 1] {
        let (scene, upstream) = (Scene::new(), teller());
        let server = scene.record(&upstream, &["--receipt", "receipt.json"]);
        let mut client = server.connect();
        let (mut ends, mut marks) = (vec![0], Vec::new());
        for n in 0..CALLS {
            let answer = client.exchange(&call(&format!("chat-call{n}"))).expect(200);
            marks.push(mark(&answer.text()).unwrap());
            ends.push(std::fs::metadata(scene.hidden(".log")).unwrap().len());
        }
        let log = OpenOptions::new().read(true).write(true).open(scene.hidden(".log")).unwrap();
        // Near the end of the call's frame.
        let at = ends[damaged + 1] - 9;
        let mut byte = [0];
        log.read_exact_at(&mut byte, at).unwrap();
        log.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let said = server.stop().expect(5).stderr;
        assert!(said.contains("1 of its entries"), "{said}");
        let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
        let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
        assert_eq!((&receipt["not_kept"], &receipt["verdict"]), (&1.into(), &"failed".into()));
        marks.remove(damaged);
        assert_eq!(kept(&scene).into_iter().collect::<BTreeSet<_>>(), marks.into_iter().collect());
        assert_eq!(torn(&scene).len(), 1);
    }
}

#[test]
fn merging_a_damaged_log_says_what_was_set_aside_and_fails() {
    let log = Log::of(4);
    let mut bytes = log.bytes.clone();
    bytes[log.ends[1] - 9] ^= 0x10;
    let scene = crashed(&bytes);
    let fixed = scene.run(&["verify", "--fix", "run.json"]).expect(1);
    let parts = ["1 of its entries", "run.json.log.torn-1"];
    assert!(parts.iter().all(|part| fixed.stdout.contains(part)), "{}", fixed.stdout);
    assert_eq!(kept(&scene).len(), 3);
    // A recorder that finds it counts it as well.
    let (scene, upstream) = (crashed(&bytes), teller());
    let server = scene.record(&upstream, &[]);
    server.call(&call("chat-after")).expect(200);
    server.stop().expect(5).says(&parts);
    assert_eq!(kept(&scene).len(), 4);
    // So does one that finds it damaged after it was moved for compaction.
    let scene = Scene::new();
    std::fs::write(scene.planted(".folding"), &bytes).unwrap();
    scene.run(&["verify", "--fix", "run.json"]).expect(1);
    assert_eq!((kept(&scene).len(), torn(&scene).len()), (3, 1));
}

#[test]
fn one_damaged_byte_behind_which_the_log_is_torn_costs_one_call_and_fails() {
    let log = Log::of(6);
    let torn_at = log.bytes.len() - 5;
    let mut places = Vec::new();
    for frame in [1, 4] {
        let begins = log.ends[frame - 1];
        // The mark, the version, the length, the checksum, the fingerprint, and the payload.
        places.extend([0, 3, 4, 8, 9, 11, 12, 16, 31, 32, 40].map(|byte| (frame, begins + byte)));
    }
    for (frame, at) in places {
        let mut bytes = log.bytes[..torn_at].to_vec();
        bytes[at] ^= 1;
        let scene = crashed(&bytes);
        let what = format!("byte {} of frame {frame}", at - log.ends[frame - 1]);
        let said = scene.run(&["verify", "--fix", "run.json"]);
        assert_eq!(said.code, 1, "{what}: {said:?}");
        assert!(said.stdout.contains("1 of its entries"), "{what}: {}", said.stdout);
        let whole = log.marks[..5].iter().enumerate().filter(|(number, _)| *number != frame);
        let whole: BTreeSet<String> = whole.map(|(_, mark)| mark.clone()).collect();
        assert_eq!(kept(&scene).into_iter().collect::<BTreeSet<_>>(), whole, "{what}");
        assert_eq!(torn(&scene).len(), 2, "{what}: the damaged frame, and the torn tail");
    }
}

#[test]
fn damaged_mark_of_the_last_frame_is_counted_as_a_call_that_was_not_kept() {
    let (log, upstream) = (Log::of(3), teller());
    let mut bytes = log.bytes.clone();
    bytes[log.last().start] ^= 1;
    let scene = crashed(&bytes);
    scene.run(&["verify", "--fix", "run.json"]).expect(1);
    let scene = crashed(&bytes);
    let server = scene.record(&upstream, &[]);
    server.call(&call("chat-after")).expect(200);
    server.stop().expect(5).says(&["1 of its entries"]);
    assert_eq!(kept(&scene).len(), 3);
}

#[test]
fn recorder_keeps_the_calls_that_a_killed_one_left_in_a_damaged_and_torn_log() {
    let (scene, upstream) = (Scene::new(), teller());
    let killed = scene.record(&upstream, &[]);
    let lives = scene.record(&upstream, &["--receipt", "receipt.json"]);
    let mut client = killed.connect();
    let (mut ends, mut marks) = (vec![0], Vec::new());
    for n in 0..10 {
        let answer = client.exchange(&call(&format!("chat-call{n}"))).expect(200);
        marks.push(mark(&answer.text()).unwrap());
        ends.push(std::fs::metadata(scene.hidden(".log")).unwrap().len());
    }
    kill(&killed);
    killed.process.wait().expect(-9);
    let log = OpenOptions::new().read(true).write(true).open(scene.hidden(".log")).unwrap();
    let at = ends[3] + 8;
    let mut byte = [0];
    log.read_exact_at(&mut byte, at).unwrap();
    log.write_all_at(&[byte[0] ^ 1], at).unwrap();
    log.set_len(ends[10] - 5).unwrap();
    marks.push(mark(&lives.call(&call("chat-after")).expect(200).text()).unwrap());
    lives.stop().expect(5).says(&["1 of its entries"]);
    let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
    let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["not_kept"], 1);
    // The damaged call, and the torn one.
    marks.remove(9);
    marks.remove(3);
    assert_eq!(kept(&scene).into_iter().collect::<BTreeSet<_>>(), marks.into_iter().collect());
}

#[test]
fn two_damaged_bytes_in_a_live_log_cost_two_calls() {
    let (scene, upstream) = (Scene::new(), teller());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    let mut ends = Vec::new();
    for n in 0..20 {
        client.exchange(&call(&format!("chat-call{n}"))).expect(200);
        ends.push(std::fs::metadata(scene.hidden(".log")).unwrap().len());
    }
    let log = OpenOptions::new().read(true).write(true).open(scene.hidden(".log")).unwrap();
    for at in [ends[2] - 9, ends[14] - 9] {
        let mut byte = [0];
        log.read_exact_at(&mut byte, at).unwrap();
        log.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
    server.stop().expect(5).says(&["2 of its entries"]);
    assert_eq!(kept(&scene).len(), 18);
}
