//! Tests of `review` on a terminal: keys go in, the screen and the files come out.

use std::time::Instant;

use rustix::termios::LocalModes;

use super::sample::{MORE, accepted_letters, keys, sample, texts};
use crate::support::gate::PATIENCE;
use crate::support::loomrec::command;
use crate::support::pty::Terminal;
use crate::support::shape::chat;
use crate::support::{Answer, Scene, Upstream};

fn open(scene: &Scene, set: &[(&str, &str)]) -> Terminal {
    let mut command = command(scene.dir(), &["review", "run.json"]);
    command.env("TERM", "xterm").envs(set.iter().copied());
    Terminal::spawn(command, true)
}

/// A review that shows its first change.
fn start(scene: &Scene) -> Terminal {
    let mut terminal = open(scene, &[]);
    terminal.wait_for("change 1 of 4");
    terminal.wait_for("q quit");
    terminal
}

/// Asserts that the terminal is as it was before.
#[track_caller]
fn is_restored(seen: &str) {
    let (enter, leave) =
        (seen.matches("\u{1b}[?1049h").count(), seen.matches("\u{1b}[?1049l").count());
    assert!(enter > 0 && enter == leave, "{enter} {leave}");
    assert!(seen.rfind("\u{1b}[?25h") > seen.rfind("\u{1b}[?25l"), "no cursor");
    // Control sequences of the answers never reach it.
    assert!(!seen.contains("\u{1b}]0;") && !seen.contains("\u{1b}[2J"), "{seen:?}");
}

#[test]
fn changes_are_accepted_rejected_and_skipped_one_by_one() {
    let scene = sample();
    let (before, changes) = (scene.text(), keys(&scene));
    let mut terminal = start(&scene);
    assert!(!terminal.modes().local_modes.contains(LocalModes::ECHO));
    terminal.ask("a", "change 2 of 4");
    terminal.ask("r", "change 3 of 4");
    terminal.wait_for("1 accepted, 1 rejected");
    terminal.ask("s", "change 4 of 4");
    terminal.wait_for("only in run.json.new");
    terminal.types("a");
    terminal.wait_for("2 accepted · 1 rejected · 1 left in run.json.new");
    terminal.wait_for("next: git add run.json");
    assert!(terminal.modes().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON));
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    is_restored(&seen);
    assert_eq!(accepted_letters(&scene), "a....a");
    assert_eq!(keys(&scene), [changes[2].clone()]);
    let (old, new) = (texts(&before), texts(&scene.text()));
    // The first differs and one is new; all others keep their text and their place.
    assert_eq!((old.len(), new.len()), (7, 8));
    assert_ne!(old[2], new[2]);
    assert_eq!((&old[..2], &old[3..]), (&new[..2], &new[3..7]));
    assert!(!scene.text().contains("\"pending\""), "{}", scene.text());
}

#[test]
fn keys_go_back_toggle_explain_and_quit() {
    let scene = sample();
    let mut terminal = start(&scene);
    terminal.ask("d", "\"content\": \"Rain, alas.");
    terminal.wait_for("d meaning");
    let meaning = terminal.ask("d", "d raw");
    assert!(meaning.contains("Rain, alas."), "{meaning}");
    terminal.ask("?", "accept this change");
    terminal.ask("?", "a accept");
    terminal.ask("x", "no such key");
    terminal.ask("b", "this is the first change");
    terminal.ask("r", "change 2 of 4");
    terminal.ask("b", "change 1 of 4, rejected");
    terminal.ask("a", "change 2 of 4");
    terminal.wait_for("1 accepted, 0 rejected");
    terminal.ask("q", "1 accepted · 3 left in run.json.new");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0));
    is_restored(&seen);
    assert_eq!(accepted_letters(&scene), "a....");
}

#[test]
fn all_that_are_left_are_decided_by_one_key() {
    for (typed, said, after, left) in [
        ("A", "4 accepted · no change is left; run.json.new was deleted", "aa..aa", 0),
        ("R", "4 rejected · no change is left; run.json.new was deleted", ".....", 0),
        ("S", "nothing was changed · 4 left", ".....", 4),
        ("rA", "3 accepted · 1 rejected · no change is left", ".a..aa", 0),
        ("aS", "1 accepted · 3 left", "a....", 3),
    ] {
        let scene = sample();
        let before = scene.text();
        let mut terminal = start(&scene);
        for (at, key) in typed.chars().enumerate() {
            if at > 0 {
                terminal.wait_for(&format!("change {} of 4", at + 1));
            }
            terminal.types(&key.to_string());
        }
        terminal.wait_for(said);
        assert_eq!(terminal.end().0, Some(0), "{typed}");
        assert_eq!(accepted_letters(&scene), after, "{typed}");
        assert_eq!(scene.text() == before, !after.contains('a'), "{typed}");
        assert_eq!(scene.path("run.json.new").exists(), left > 0, "{typed}");
        let others = scene.names().into_iter().filter(|name| !name.starts_with("run.json"));
        assert_eq!(others.count(), 0, "{:?}", scene.names());
        assert!(!scene.path("run.json.new.lock").exists(), "{:?}", scene.names());
    }
}

#[test]
fn what_was_decided_is_kept_when_the_review_is_interrupted() {
    for (how, code) in [("\u{3}", 130), ("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let scene = sample();
        let mut terminal = start(&scene);
        terminal.ask("a", "change 2 of 4");
        match how {
            "\u{3}" => terminal.types(how),
            name => terminal.signal(name),
        }
        terminal.wait_for("1 accepted · 3 left");
        assert!(terminal.modes().local_modes.contains(LocalModes::ECHO), "{how:?}");
        let (ended, seen) = terminal.end();
        assert_eq!(ended, Some(code), "{how:?}");
        is_restored(&seen);
        assert_eq!(accepted_letters(&scene), "a....", "{how:?}");
    }
}

#[test]
fn review_that_cannot_be_carried_out_says_how_to_do_it_again() {
    // Another process decides in the meantime.
    let scene = sample();
    let names = keys(&scene);
    let mut terminal = start(&scene);
    scene.run(&["review", "run.json", "--accept", "greet"]).expect(0);
    terminal.ask("a", "change 2 of 4");
    terminal.ask("rq", "changed it meanwhile");
    terminal.wait_for(&format!("loomrec review run.json --accept {}\r\n", &names[0][..12]));
    terminal.wait_for("loomrec review run.json --reject greet\r\n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(5));
    is_restored(&seen);
    assert_eq!(accepted_letters(&scene), ".a...");
    // Another process records in the meantime.
    let mut terminal = open(&scene, &[]);
    terminal.wait_for("change 1 of 3");
    let upstream = Upstream::start(|_| Answer::json(200, "{}"));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("Meanwhile"));
    terminal.ask("A", "being recorded into");
    assert_eq!(terminal.end().0, Some(5));
    server.stop().expect(0);
    assert_eq!((accepted_letters(&scene).as_str(), keys(&scene).len()), (".a....", 3));
}

#[test]
fn screen_follows_the_terminals_size() {
    let scene = sample();
    let mut terminal = start(&scene);
    terminal.ask("sss", "change 4 of 4");
    terminal.wait_for("q quit");
    terminal.resize(10, 40);
    terminal.wait_for("lines 1 to 7 of");
    terminal.ask(" ", "lines 7 to 13 of");
    terminal.ask("j", "lines 8 to 14 of");
    terminal.ask("\u{1b}[5~", "lines 2 to 8 of");
    terminal.ask("g", "lines 1 to 7 of");
    for (rows, columns) in [(1, 1), (2, 2), (3, 5), (200, 300)] {
        terminal.resize(rows, columns);
    }
    terminal.wait_for("change 4 of 4 · unknown · 0 accepted, 0 rejected");
    terminal.ask("q", "nothing was changed");
    assert_eq!(terminal.end().0, Some(0));
}

// Whether a process is stopped is read from /proc.
#[cfg(target_os = "linux")]
#[test]
fn terminal_is_given_back_while_the_review_is_stopped() {
    let scene = sample();
    let mut terminal = start(&scene);
    for how in ["\u{1a}", "TSTP"] {
        match how {
            "TSTP" => terminal.signal(how),
            key => terminal.types(key),
        }
        terminal.wait_for("\u{1b}[?1049l");
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", terminal.pid())).unwrap();
        let is_stopped = || state().rsplit_once(')').unwrap().1.trim_start().starts_with('T');
        let until = Instant::now() + PATIENCE;
        while !is_stopped() {
            assert!(Instant::now() < until, "{}", state());
            std::thread::yield_now();
        }
        assert!(terminal.modes().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON));
        terminal.signal("CONT");
        terminal.wait_for("change 1 of 4");
        assert!(!terminal.modes().local_modes.contains(LocalModes::ECHO));
    }
    terminal.ask("q", "nothing was changed");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0));
    is_restored(&seen);
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let scene = sample();
    let mut terminal = open(&scene, &[("NO_COLOR", "1")]);
    terminal.wait_for("change 1 of 4");
    let seen = terminal.ask("s", "change 2 of 4") + &terminal.wait_for("q quit");
    assert!(seen.contains(MORE), "{seen}");
    assert!(!seen.contains("\u{1b}[3") && !seen.contains("\u{1b}[7m"), "{seen:?}");
    terminal.ask("q", "nothing was changed");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn plain_terminal_is_asked_line_by_line() {
    for (answers, code, after) in [
        (&["a", "x", "r", "d", "s", "b", "r", "a"][..], Some(0), "a....a"),
        (&["a", "q"], Some(0), "a...."),
        (&["a", "\u{4}"], Some(0), "a...."),
        (&["A"], Some(0), "aa..aa"),
    ] {
        let scene = sample();
        let mut terminal = open(&scene, &[("TERM", "dumb")]);
        for answer in answers {
            terminal.wait_for("b,?,q] ");
            let end = if *answer == "\u{4}" { "" } else { "\n" };
            terminal.types(&format!("{answer}{end}"));
        }
        let (ended, seen) = terminal.end();
        assert_eq!(ended, code, "{answers:?}: {seen}");
        assert_eq!(accepted_letters(&scene), after, "{answers:?}");
        assert!(!seen.contains('\u{1b}'), "{seen:?}");
    }
    let scene = sample();
    let mut terminal = open(&scene, &[("TERM", "dumb")]);
    terminal.ask("a\n", "change 2 of 4");
    terminal.signal("INT");
    assert_eq!(terminal.end().0, Some(130));
    assert_eq!(accepted_letters(&scene), "a....");
}
