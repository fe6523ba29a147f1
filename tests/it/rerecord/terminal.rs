//! `rerecord` on a terminal: the question, the bar.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{entries, prepared, sample, speaker};
use crate::support::{Scene, Upstream};

/// Runs it on a terminal, types `answer` when asked. Gives the exit code and what the
/// terminal got.
fn on_terminal(
    scene: &Scene,
    upstream: &Upstream,
    args: &[&str],
    answer: &str,
) -> (Option<i32>, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let side = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
    let mut command = prepared(scene, upstream, args);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
    drop(command);
    let copy: OwnedFd = rustix::io::dup(&terminal).unwrap();
    let mut typed = File::from(copy);
    let (mut screen, mut seen, mut buffer) = (File::from(terminal), Vec::new(), [0; 4096]);
    let mut asked = false;
    // The read fails once the last of the other side is closed.
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
        if !asked && String::from_utf8_lossy(&seen).contains("[y/N] ") {
            asked = true;
            writeln!(typed, "{answer}").unwrap();
        }
    }
    let code = child.wait().unwrap().code();
    (code, String::from_utf8_lossy(&seen).into_owned())
}

#[test]
fn question_is_asked_and_a_bar_is_drawn() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    for answer in ["n", "", "what"] {
        let (code, seen) = on_terminal(&scene, &upstream, &["run.json"], answer);
        assert_eq!(code, Some(1), "{seen}");
        assert!(
            seen.contains("Send these 4 calls (about $") && seen.contains("nothing was sent"),
            "{seen}"
        );
    }
    assert_eq!((upstream.requests(), scene.names()), (0, vec!["run.json".to_owned()]));
    let (code, seen) = on_terminal(&scene, &upstream, &["run.json"], "y");
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
    let (code, seen) = on_terminal(&scene, &upstream, &["run.json", "--yes", "--only", "plan"], "");
    assert_eq!((code, upstream.requests()), (Some(0), 1), "{seen}");
    assert!(!seen.contains("[y/N]"), "{seen}");
}
