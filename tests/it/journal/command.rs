//! Tests of `loomrec journal`: searching lines, summaries, and invalid lines.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use super::*;
use crate::support::chance::rounds;
use crate::support::loomrec::{Process, command};

/// A line as a run writes it.
fn call(seq: u64, more: &Value) -> String {
    let mut line = json!({
        "v": 1, "seq": seq, "at": "2026-01-31T12:00:00.000001Z", "outcome": "served",
        "status": 200, "mode": "replay", "source": "recording", "method": "POST",
        "path": "/v1/chat/completions", "upstream": "openai", "provider": "openai",
        "operation": "chat.completions", "model": "gpt-4o", "streamed": false, "session": null,
        "total_ms": 12.5, "first_byte_ms": 12.0, "bytes": 300, "chunks": 1, "end": "complete",
        "input_tokens": 9, "output_tokens": 12, "cost_usd": 0.001, "fault": null,
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{line}\n")
}

fn scene_of(text: &str) -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.path("run.jsonl"), text).unwrap();
    scene
}

fn sample() -> Scene {
    let missed = json!({ "outcome": "missed", "status": 422, "source": null, "model": "o3",
                         "mismatch": { "reason": "drifted" }, "input_tokens": null,
                         "output_tokens": null, "cost_usd": null });
    let left = json!({ "outcome": "recorded", "source": "upstream", "upstream": "anthropic",
                       "model": "claude", "session": "s", "end": "client_left" });
    let mark = "{\"v\":1,\"outcome\":\"fired\",\"fault\":1,\"at_ms\":1.0}\n";
    scene_of(&[&call(1, &json!({})), mark, &call(2, &missed), &call(3, &left)].concat())
}

#[test]
fn calls_are_shown_filtered_and_given_as_they_stand() {
    let scene = sample();
    let told = scene.run(&["journal", "run.jsonl"]).expect(0).stdout;
    insta::assert_snapshot!("journal", told);
    let seqs = |args: &[&str]| -> Vec<u64> {
        let args = [&["journal", "run.jsonl", "--json"], args].concat();
        let told = scene.run(&args).expect(0).stdout;
        let seq = |line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
        told.lines().map(seq).collect()
    };
    assert_eq!(seqs(&[]), [1, 2, 3]);
    assert_eq!(seqs(&["--failed"]), [2, 3]);
    assert_eq!(seqs(&["--model", "o3"]), [2]);
    assert_eq!(seqs(&["--upstream", "anthropic"]), [3]);
    let text = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    let told = scene.run(&["journal", "run.jsonl", "--json", "--failed"]).expect(0).stdout;
    assert!(text.ends_with(&told), "{told}");
}

#[test]
fn calls_are_summed_up_for_people_and_programs() {
    let scene = sample();
    let told = scene.run(&["stats", "run.jsonl"]).expect(0).stdout;
    insta::assert_snapshot!("journal_sum", told);
    let told = scene.run(&["stats", "run.jsonl", "--json"]).expect(0).stdout;
    let told: Value = serde_json::from_str(&told).unwrap();
    says(
        &told,
        &json!({ "calls": 3, "failed": 2, "input_tokens": 18, "output_tokens": 24,
                 "cost_usd": 0.002, "mismatches": { "drifted": 1 },
                 "sources": { "none": 1, "recording": 1, "upstream": 1 } }),
    );
    assert_eq!(told["groups"].as_array().unwrap().len(), 3);
    let twice = scene.run(&["stats", "run.jsonl", "run.jsonl"]).expect(0).stdout;
    assert!(twice.contains("6 calls, 4 failed"), "{twice}");
    for flags in [&["--by", "model"][..], &["--cache"], &["--prices", "mine.json"]] {
        let args = [&["stats", "run.jsonl"], flags].concat();
        scene.run(&args).expect(2).says(&[flags[0], "is for recordings"]);
    }
    scene.write("{\"_version\": 2}");
    scene.run(&["stats", "run.jsonl", "run.json"]).expect(2).says(&["run.jsonl is a journal"]);
}

#[test]
fn what_is_no_journal_is_refused_by_place() {
    let deep = format!("{{\"outcome\":\"x\",\"more\":{}", "[".repeat(100_000));
    let good = call(1, &json!({}));
    for (text, code, told) in [
        (
            "hello\n".to_owned(),
            2,
            "run.jsonl, line 1: this is not a line of a journal: it is not JSON",
        ),
        (format!("{good}[]\n"), 2, "line 2: this is not a line of a journal: it is not an object"),
        (
            format!("{good}{{\"a\":1}}\n"),
            2,
            "line 2: this is not a line of a journal: it has no outcome",
        ),
        (format!("{good}{}", call(2, &json!({ "status": "x" }))), 2, "line 2: this is not a line"),
        (format!("{good}{{\"outcome\":\"a\",\"outcome\":\"b\"}}\n"), 2, "duplicate field"),
        (format!("{good}{deep}\n"), 2, "line 2: this is not a line of a journal: it is not JSON"),
        (call(1, &json!({ "v": 2 })), 2, "of version 2: read it with a newer loomrec"),
        (format!("{good}{}", &good[..40]), 0, "the last line of run.jsonl is cut off"),
        (String::new(), 0, ""),
    ] {
        let ended = scene_of(&text).run(&["journal", "run.jsonl"]);
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    let scene = Scene::new();
    let told = scene.run(&["journal", "gone.jsonl"]).expect(4).stderr;
    assert!(told.contains("failed to read gone.jsonl"), "{told}");
    std::fs::create_dir(scene.path("folder")).unwrap();
    scene.run(&["journal", "folder"]).expect(4);
    let sparse = File::create(scene.path("sparse")).unwrap();
    sparse.set_len(1 << 30).unwrap();
    let told = scene.run(&["journal", "sparse"]).expect(2).stderr;
    assert!(
        told.contains("sparse, line 1: this is not a line of a journal: it is longer"),
        "{told}"
    );
}

#[test]
fn a_large_journal_is_read_in_bounded_memory() {
    let size = rounds(48, 1024) << 20;
    let scene = Scene::new();
    assert!(Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap().success());
    let process = Process::spawn(&mut command(
        scene.dir(),
        &["journal", "pipe", "--model", "m7", "--failed"],
    ));
    let mut pipe = BufWriter::new(File::create(scene.path("pipe")).unwrap());
    let (mut written, mut calls) = (0, 0);
    while written < size {
        calls += 1;
        let more = json!({ "total_ms": calls % 977, "model": format!("m{}", calls % 50) });
        let line = call(calls, &more);
        pipe.write_all(line.as_bytes()).unwrap();
        written += line.len();
    }
    let failed = call(calls + 1, &json!({ "status": 500, "model": "m7" }));
    pipe.write_all(failed.as_bytes()).unwrap();
    pipe.flush().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
    drop(pipe);
    let told = process.wait().expect(0).stdout;
    assert_eq!(told.lines().count(), 1, "{told}");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 64 << 10, "{kib} KiB for {written} bytes");
}
