//! Tests of messages that wait while a command holds the terminal.

use std::process::Command;

use crate::support::loomrec::command;
use crate::support::pty::Terminal;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// A program with a page of its own: it takes the terminal, makes calls that miss, and leaves it.
/// Then it waits for a line.
const PAGE: &str = r#"
import json, os, sys, termios, tty, urllib.error, urllib.request

def ask(prompt):
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    headers = {"content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
    except urllib.error.HTTPError as error:
        return error.code

def say(text):
    sys.stdout.write(text + "\r\n")
    sys.stdout.flush()

usual = termios.tcgetattr(0)
tty.setraw(0)
say("page begins")
for number in range(int(sys.argv[1])):
    ask("unknown %d" % number)
say("page ends")
if sys.argv[2] == "leaves":
    termios.tcsetattr(0, termios.TCSANOW, usual)
    say("waits for a line")
    sys.stdin.readline()
ask("unknown at the end")
say("program ends")
if sys.argv[2] == "stays":
    termios.tcsetattr(0, termios.TCSANOW, usual)
"#;

fn replaying(scene: &Scene, calls: &str, end: &str) -> Command {
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
    scene.recorded(&upstream, &[chat("hi")]);
    let mut args = scene.replay_args(&["--strict"]);
    args.extend(["--", "python3", "-c", PAGE, calls, end].map(Into::into));
    let mut command = command(scene.dir(), &args);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    command
}

const MISS: &str = "RecordingMismatchError";

/// Returns the output up to `text`, and what follows it.
#[track_caller]
fn split<'t>(seen: &'t str, text: &str) -> (&'t str, &'t str) {
    seen.split_once(text).unwrap_or_else(|| panic!("no {text:?} in {seen}"))
}

#[test]
fn misses_wait_until_the_program_that_holds_the_terminal_ends() {
    let scene = Scene::new();
    let (code, seen) = Terminal::spawn(replaying(&scene, "2", "stays"), true).end();
    assert_eq!(code, Some(1), "{seen}");
    let (page, after) = split(&seen, "program ends");
    assert!(!page.contains(MISS), "{seen}");
    let (misses, _) = split(after, "loomrec replay: failed");
    assert_eq!(misses.matches(MISS).count(), 3, "{seen}");
    let order: Vec<usize> = ["\"unknown 0\"", "\"unknown 1\"", "\"unknown at the end\""]
        .map(|prompt| misses.find(prompt).unwrap_or_else(|| panic!("no {prompt} in {seen}")))
        .to_vec();
    assert!(order.is_sorted(), "{order:?} {seen}");
}

#[test]
fn misses_are_printed_when_the_program_leaves_the_page_and_at_once_from_then_on() {
    let scene = Scene::new();
    let mut terminal = Terminal::spawn(replaying(&scene, "1", "leaves"), true);
    let page = terminal.wait_for("waits for a line");
    assert!(!page.contains(MISS), "{page}");
    let waited = terminal.wait_for("\"unknown 0\"");
    assert!(waited.contains(MISS), "{waited}");
    let rest = terminal.ask("\n", "program ends");
    assert!(rest.contains("\"unknown at the end\""), "{rest}");
    assert_eq!(terminal.end().0, Some(1));
}

#[test]
fn only_the_first_hundred_messages_wait_and_the_others_are_counted() {
    let scene = Scene::new();
    let (code, seen) = Terminal::spawn(replaying(&scene, "119", "stays"), true).end();
    assert_eq!(code, Some(1), "{seen}");
    let (_, after) = split(&seen, "program ends");
    let (misses, _) = split(after, "loomrec replay: failed");
    assert_eq!(misses.matches(MISS).count(), 100, "{seen}");
    let counted = "loomrec: messages that came while the command held the terminal, and are not \
                   shown: 20; --journal FILE has a line for each call";
    assert!(misses.contains(counted), "{misses}");
    assert!(seen.contains("120 missed"), "{seen}");
}
