//! Tests of `rerecord` on a terminal: the question and the progress bar.

use super::{entries, prepared, sample, speaker};
use crate::support::pty::Terminal;
use crate::support::{Scene, Upstream};

/// Runs it on a terminal, and types `answer`, if there is one, when asked. Returns the exit code
/// and the output on the terminal.
fn on_terminal(
    scene: &Scene,
    upstream: &Upstream,
    args: &[&str],
    answer: Option<&str>,
) -> (Option<i32>, String) {
    let mut command = prepared(scene, upstream, args);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::spawn(command, true);
    if let Some(answer) = answer {
        terminal.wait_for("[y/N] ");
        terminal.types(&format!("{answer}\n"));
    }
    terminal.end()
}

#[test]
fn question_is_asked_and_a_bar_is_drawn() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    for answer in ["n", "", "what"] {
        let (code, seen) = on_terminal(&scene, &upstream, &["run.json"], Some(answer));
        assert_eq!(code, Some(1), "{seen}");
        assert!(
            seen.contains("Send these 4 calls (about $") && seen.contains("nothing was sent"),
            "{seen}"
        );
    }
    assert_eq!((upstream.requests(), scene.names()), (0, vec!["run.json".to_owned()]));
    let (code, seen) = on_terminal(&scene, &upstream, &["run.json"], Some("y"));
    assert_eq!(code, Some(0), "{seen}");
    assert!(
        seen.contains("3/4") && seen.contains("loomrec rerecord: ok: 4 new answers"),
        "{seen:?}"
    );
    assert!(!seen.contains(" of 4 calls"), "{seen:?}");
    assert_eq!(entries(&scene, "run.json.new").len(), 4);
}

#[test]
fn nothing_is_asked_when_the_answer_is_given() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    let (code, seen) = on_terminal(&scene, &upstream, &["run.json", "--yes", "plan"], None);
    assert_eq!((code, upstream.requests()), (Some(0), 1), "{seen}");
    assert!(!seen.contains("[y/N]"), "{seen}");
}
