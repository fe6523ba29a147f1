//! Tests of what a run with a command says on a terminal while it lasts, and of the colours of its
//! verdict.

use std::ffi::OsString;

use crate::support::loomrec::command;
use crate::support::pty::Terminal;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// A program that makes one call, and then one more for each further argument.
const ASK: &str = r#"
import json, os, sys, urllib.error, urllib.request
for prompt in sys.argv[1:]:
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]}
    headers = {"content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
    except urllib.error.HTTPError:
        pass
"#;

/// Runs loomrec with `args` and the program with `prompts` on a terminal.
fn on_terminal(scene: &Scene, mut args: Vec<OsString>, prompts: &[&str]) -> (Option<i32>, String) {
    args.extend(["--", "python3", "-c", ASK].map(Into::into));
    args.extend(prompts.iter().map(|prompt| OsString::from(*prompt)));
    let mut command = command(scene.dir(), &args);
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    Terminal::spawn(command, false).end()
}

#[test]
fn a_record_with_a_command_says_on_a_terminal_how_far_it_is() {
    let scene = Scene::new();
    // Longer than the pause before the first line.
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")).late(5_500));
    let record = scene.record_args(&upstream.url(), &[]);
    let (code, seen) = on_terminal(&scene, record, &["hi"]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("loomrec: after 5 s: 0 calls · 0 tokens · $0 · 1 open"), "{seen}");
    assert!(!seen.contains("after 15 s"), "{seen}");
}

#[test]
fn the_verdict_and_what_is_wrong_have_their_colours() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
    scene.recorded(&upstream, &[chat("hi")]);
    let (code, seen) = on_terminal(&scene, scene.replay_args(&["--strict"]), &["hi"]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("loomrec replay: \u{1b}[1m\u{1b}[32mok"), "{seen:?}");
    let (code, seen) = on_terminal(&scene, scene.replay_args(&["--strict"]), &["ho"]);
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("loomrec replay: \u{1b}[1m\u{1b}[31mfailed"), "{seen:?}");
    assert!(seen.contains("\u{1b}[31mcalls without a recorded answer: 1"), "{seen:?}");
    assert!(!seen.contains("after 5 s"), "{seen}");
}
