//! Tests of the order of system calls: data is on disk before the last byte of the answer goes out,
//! and compaction replaces the file before it deletes the log. The order is read from strace, so
//! that no crash has to come at the right moment.

use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::support::chance::skipped;
use crate::support::ledger::{check, mark, teller};
use crate::support::shape::{chat_events, chat_streamed};
use crate::support::swarm::call;
use crate::support::{Answer, Scene, Server, Upstream};

const CALLS: usize = 5;

/// The calls that change files or send to a client, with paths and peers.
const TRACED: &str = "trace=write,writev,pwrite64,sendto,sendmsg,fsync,fdatasync,rename,renameat,\
                      renameat2,unlink,unlinkat";

/// A recorder under strace; the pid is the recorder's own.
fn traced(scene: &Scene, upstream: &Upstream, flags: &[&str]) -> Option<Server> {
    let works = Command::new("strace").args(["-D", "-o", "/dev/null", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        skipped("order", "strace is not there, or may not trace");
        return None;
    }
    let mut strace = Command::new("strace");
    strace
        .args(["-D", "-f", "-yy", "-qq", "-s", "16", "-e", TRACED, "-o"])
        .arg(scene.path("trace"));
    strace.arg(env!("CARGO_BIN_EXE_loomrec")).args(scene.record_args(&upstream.url(), flags));
    strace.args(["--listen", "127.0.0.1:0"]).current_dir(scene.dir());
    Some(Server::spawn(&mut strace))
}

/// The calls in the order in which they ended. A call that is interrupted by others is written in
/// two halves, of which the second counts.
fn trace(path: &Path, dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let line = Regex::new(r"^\d+ +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)$").unwrap();
    let mut halves: std::collections::BTreeMap<String, String> = Default::default();
    let mut done = Vec::new();
    for each in text.lines() {
        let Some(found) = line.captures(each) else { continue };
        let thread = each.split(' ').next().unwrap().to_owned();
        let rest = found[2].replace(&format!("{}/", dir.display()), "");
        if let Some(half) = rest.strip_suffix("<unfinished ...>") {
            halves.insert(thread, half.to_owned());
            continue;
        }
        let first = if each.contains("resumed>") { halves.remove(&thread) } else { None };
        done.push(format!("{}({}{rest}", &found[1], first.unwrap_or_default()));
    }
    done
}

/// The position of the first call at or after `from` that matches.
#[track_caller]
fn next(done: &[String], from: usize, pattern: &str) -> usize {
    let wanted = Regex::new(pattern).unwrap();
    let at = done[from..].iter().position(|call| wanted.is_match(call));
    from + at.unwrap_or_else(|| panic!("no {pattern} after {from}:\n{}", done.join("\n")))
}

/// Makes the calls on one connection and ends the recorder. Returns its system calls, and the
/// pattern of a write to that client.
fn run(flags: &[&str]) -> Option<(Vec<String>, String)> {
    let (scene, upstream) = (Scene::new(), teller());
    let server = traced(&scene, &upstream, flags)?;
    let mut client = server.connect();
    let peer =
        format!(r"^(write|writev|sendto|sendmsg)\(\d+<[^>]*->127\.0\.0\.1:{}\]>", client.port());
    let marks = (0..CALLS).map(|n| {
        let answer = client.exchange(&call(&format!("stream-call{n}"))).expect(200);
        mark(&answer.text()).unwrap()
    });
    let marks = marks.collect();
    server.stop().expect(0);
    let done = trace(&scene.path("trace"), scene.dir());
    assert_eq!(check(&scene, &marks), marks);
    Some((done, peer))
}

/// The end of each answer on the client's connection: the last write before the next answer's head.
fn ends(done: &[String], peer: &str) -> Vec<usize> {
    let peer = Regex::new(peer).unwrap();
    let writes: Vec<usize> = (0..done.len()).filter(|at| peer.is_match(&done[*at])).collect();
    let is_head = |at: usize| done[at].contains("\"HTTP/1.1 200");
    let heads = writes.iter().skip(1).filter(|at| is_head(**at));
    let before = |head: &usize| writes[writes.partition_point(|at| at < head) - 1];
    heads.map(before).chain(writes.last().copied()).collect()
}

#[test]
fn an_answer_ends_only_after_its_frame_was_written() {
    let Some((done, peer)) = run(&[]) else { return };
    let appends: Vec<usize> = (0..done.len())
        .filter(|at| {
            Regex::new(r"^(write|pwrite64)\(\d+<\.loomrec/run\.json\.log>")
                .unwrap()
                .is_match(&done[*at])
        })
        .collect();
    assert_eq!(appends.len(), CALLS, "an append is one write:\n{}", done.join("\n"));
    let ends = ends(&done, &peer);
    assert_eq!(ends.len(), CALLS, "{}", done.join("\n"));
    for (append, end) in appends.iter().zip(ends) {
        assert!(*append < end, "acknowledged before the append:\n{}", done.join("\n"));
    }
    let synced = done.iter().any(|call| call.contains("fdatasync") && call.contains(".log>"));
    assert!(!synced, "the log is synced:\n{}", done.join("\n"));
}

#[test]
fn a_fold_syncs_what_it_wrote_before_it_replaces_and_replaces_before_it_drops() {
    let Some((done, _)) = run(&[]) else { return };
    let rotated = next(&done, 0, r#"^rename.*"[^"]*run\.json\.log".*"[^"]*run\.json\.folding""#);
    let synced = next(&done, rotated, r"^f(data)?sync\(\d+<[^>]*loomrec-tmp>");
    let replaced = next(&done, synced, r#"^rename.*loomrec-tmp".*"[^"]*run\.json""#);
    let folder = next(&done, replaced, r"^fsync\(\d+<[^>]*loomrec-it-[^>/]*>");
    next(&done, folder, r#"^unlink.*run\.json\.folding""#);
    let early = done[..folder].iter().any(|call| {
        call.starts_with("unlink") && (call.contains(".folding\"") || call.contains(".log\""))
    });
    assert!(!early, "the log was dropped before the file was in its place:\n{}", done.join("\n"));
}

#[test]
fn appends_of_one_recorder_cost_few_system_calls() {
    let Some((done, _)) = run(&[]) else { return };
    let first = next(&done, 0, r"^write\(\d+<\.loomrec/run\.json\.log>");
    let second = next(&done, first + 1, r"^write\(\d+<\.loomrec/run\.json\.log>");
    // Between two appends come the parts of the answer, and the next request to the upstream.
    assert!(second - first < 30, "{}", done[first..=second].join("\n"));
    let renames = done[..second].iter().filter(|call| call.starts_with("rename")).count();
    assert_eq!(renames, 0, "an append must not rewrite a file:\n{}", done.join("\n"));
}

#[test]
fn first_chunk_of_a_fast_stream_leaves_at_once_and_the_next_ones_leave_together() {
    let words: Vec<String> = (0..200).map(|number| format!("word{number} ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let events = chat_events(&words);
    let stream = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len()));
    let stream: String = stream.collect();
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::stream().bytes(stream).end()));
    let Some(server) = traced(&scene, &upstream, &[]) else { return };
    let mut client = server.connect();
    let peer =
        format!(r"^(write|writev|sendto|sendmsg)\(\d+<[^>]*->127\.0\.0\.1:{}\]>", client.port());
    let answer = client.exchange(&chat_streamed("hi")).expect(200);
    assert_eq!(answer.chunks.len(), events.len(), "each chunk keeps its boundary");
    server.stop().expect(0);
    let done = trace(&scene.path("trace"), scene.dir());
    let peer = Regex::new(&peer).unwrap();
    let sent = |call: &str| call.rsplit("= ").next()?.trim().parse::<usize>().ok();
    let writes: Vec<usize> =
        done.iter().filter(|call| peer.is_match(call)).filter_map(|call| sent(call)).collect();
    let one = events[0].len();
    assert!(writes[0] < 3 * one, "the first chunk waited for others: {writes:?}");
    assert!(writes.len() < events.len() / 4, "a write for each chunk: {writes:?}");
}
