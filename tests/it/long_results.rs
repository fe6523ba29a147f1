//! Tests of long results: on a terminal, and for a reader that leaves early.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::support::Scene;
use crate::support::loomrec::command;
use crate::support::pty::Terminal;

/// Two recordings that differ in `calls` calls.
fn sample(calls: usize) -> Scene {
    let scene = Scene::new();
    for name in ["a.json", "b.json"] {
        let entry = |at: usize| (format!("step{at}"), json!({"content": format!("{name} says")}));
        let mut file = serde_json::Map::from_iter((0..calls).map(entry));
        file.insert("_version".into(), json!(2));
        std::fs::write(scene.path(name), serde_json::Value::Object(file).to_string()).unwrap();
    }
    scene
}

/// Runs the binary on a new terminal. Returns the exit code and the output on the terminal.
fn on_terminal(dir: &Path, args: &[&str], set: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = command(dir, args);
    command.env("TERM", "xterm").envs(set.iter().copied());
    Terminal::spawn(command, false).end()
}

#[test]
fn terminal_gets_colours_unless_they_are_not_wanted() {
    let scene = sample(1);
    let args = ["diff", "a.json", "b.json"];
    let (code, seen) = on_terminal(scene.dir(), &args, &[]);
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("1 call changed") && seen.contains("\u{1b}["), "{seen:?}");
    let (code, seen) = on_terminal(scene.dir(), &args, &[("NO_COLOR", "1")]);
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("1 call changed") && !seen.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn exit_code_stays_when_the_reader_leaves_early() {
    let scene = sample(3000);
    let mut diff = command(scene.dir(), &["diff", "a.json", "b.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The end that reads is closed before anything is written.
    drop(diff.stdout.take());
    let ended = diff.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
}
