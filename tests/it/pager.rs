//! Tests of long results on a terminal: they go through the pager, as in git.

use std::path::Path;

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
fn pager_gets_the_result_in_colour() {
    let scene = sample(1);
    let args = ["diff", "a.json", "b.json"];
    let (code, seen) = on_terminal(scene.dir(), &args, &[("PAGER", "cat > paged.txt")]);
    assert_eq!((code, seen.as_str()), (Some(1), ""));
    let paged = std::fs::read_to_string(scene.path("paged.txt")).unwrap();
    assert!(paged.contains("1 call changed") && paged.contains("\u{1b}["), "{paged:?}");
    let set = [("PAGER", "cat > plain.txt"), ("NO_COLOR", "1")];
    assert_eq!(on_terminal(scene.dir(), &args, &set).0, Some(1));
    let plain = std::fs::read_to_string(scene.path("plain.txt")).unwrap();
    assert!(plain.contains("1 call changed") && !plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn terminal_gets_the_result_where_no_pager_is_wanted() {
    let scene = sample(1);
    let paged = [("PAGER", "cat > paged.txt")];
    for (more, set) in [
        (&["--no-pager"][..], &paged[..]),
        (&["--json"], &paged),
        (&["--markdown"], &paged),
        (&[], &[("PAGER", "")]),
        (&[], &[("PAGER", "cat")]),
    ] {
        let args = [&["diff", "a.json", "b.json"], more].concat();
        let (code, seen) = on_terminal(scene.dir(), &args, set);
        assert_eq!(code, Some(1), "{more:?}: {seen}");
        assert!(seen.contains("says"), "{more:?}: {seen}");
        assert!(!scene.path("paged.txt").exists(), "{more:?}");
    }
}

#[test]
fn answer_stays_when_the_pager_is_left_early_or_missing() {
    let scene = sample(3000);
    let args = ["diff", "a.json", "b.json"];
    for pager in ["true", "head -n 3", "exit 7", "no-such-pager 2> gone.txt"] {
        let (code, seen) = on_terminal(scene.dir(), &args, &[("PAGER", pager)]);
        assert_eq!(code, Some(1), "{pager}: {seen}");
        assert!(!seen.contains("failed") && seen.lines().count() <= 3, "{pager}: {seen}");
    }
}
