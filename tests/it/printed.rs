//! Tests of what loomrec prints: no text of an upstream, a recording or a caller that a terminal
//! would act on, and none that looks like one of loomrec's own lines.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::loomrec::command;
use crate::support::pty::Terminal;
use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Client, Scene, Server, Upstream};

/// A text that sets the title, clears the screen, writes in red and from right to left, and forges
/// a receipt.
const ACTIVE: &str =
    "x\u{1b}]0;PWNED\u{7}\u{1b}[2J\u{9b}31m\u{202e}\nloomrec record: ok: 9 recorded\r";

/// The parts of it that a terminal must not get.
const UNWANTED: [&str; 6] =
    ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{202e}", "\nloomrec record: ok: 9"];

#[track_caller]
fn is_harmless(text: &str) {
    assert!(text.contains("PWNED"), "it does not tell of it: {text}");
    for unwanted in UNWANTED {
        assert!(!text.contains(unwanted), "{unwanted:?} in {text:?}");
    }
}

/// The output of a server on a new terminal, during these calls and at its end.
fn on_terminal(mut command: Command, calls: &[Call]) -> String {
    command.args(["--listen", "127.0.0.1:0"]).env("TERM", "xterm");
    let mut terminal = Terminal::spawn(command, false);
    terminal.wait_for("loomrec listening on http://");
    let said = terminal.wait_for("\n");
    let end = said.find(|c: char| !c.is_ascii_digit() && !".:".contains(c)).unwrap();
    let address = said[..end].parse().unwrap();
    calls.iter().for_each(|call| drop(Client::call(address, call)));
    terminal.signal("INT");
    terminal.end().1
}

/// The output through a pipe.
fn through_pipe(mut command: Command, calls: &[Call]) -> String {
    let server = Server::spawn(command.args(["--listen", "127.0.0.1:0"]));
    calls.iter().for_each(|call| drop(server.call(call)));
    server.stop().stderr
}

#[test]
fn a_model_that_an_upstream_names_acts_on_no_terminal_and_forges_no_receipt() {
    let mut body: Value = serde_json::from_str(&chat_answer("Hello")).unwrap();
    body["model"] = ACTIVE.into();
    let upstream = Upstream::always(Answer::json(200, body.to_string()));
    let scene = Scene::new();
    let files = ["--journal", "run.jsonl", "--receipt", "receipt.json", "--verbose"];
    let record = |more: &[&str]| {
        let args = scene.record_args(&upstream.url(), &[&files[..], more].concat());
        command(scene.dir(), &args)
    };
    let calls = [chat("hi")];
    let seen = on_terminal(record(&[]), &calls);
    is_harmless(&seen);
    assert!(seen.contains("no price is known for x\\u{1b}]0;PWNED"), "{seen}");
    for more in [&[][..], &["--log-format", "json"]] {
        is_harmless(&through_pipe(record(more), &calls));
        for file in ["run.jsonl", "receipt.json"] {
            is_harmless(&fs::read_to_string(scene.path(file)).unwrap());
        }
    }
}

#[test]
fn what_a_recording_and_a_caller_say_acts_on_no_terminal_when_a_call_is_missed() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let mut body = chat_body("hi");
    body[ACTIVE] = json!(ACTIVE);
    scene.recorded(&upstream, &[Call::post(CHAT, body.to_string())]);
    let mut file = scene.json();
    file[ACTIVE] = json!({ "content": "never asked for" });
    scene.write(file.to_string());
    body[ACTIVE] = json!(format!("another {ACTIVE}"));
    let calls = [
        chat("hi"),
        Call::post(CHAT, body.to_string()),
        Call::get("/openai/v1/PWNED\u{9b}31m\u{202e}"),
    ];
    let replay = |more: &[&str]| {
        let more = [&["--fail-unused", "--journal", "run.jsonl"], more].concat();
        command(scene.dir(), &scene.replay_args(&more))
    };
    let seen = on_terminal(replay(&[]), &calls);
    is_harmless(&seen);
    for told in ["nearest recorded call", "PWNED\\u{9b}31m\\u{202e}", "no call asked for"] {
        assert!(seen.contains(told), "{told}: {seen}");
    }
    for more in [&[][..], &["--log-format", "json"]] {
        is_harmless(&through_pipe(replay(more), &calls));
        is_harmless(&fs::read_to_string(scene.path("run.jsonl")).unwrap());
    }
    let server = scene.replay(&[]);
    for call in &calls {
        let told = server.call(call).json()["error"]["message"].as_str().unwrap().to_owned();
        is_harmless(&told);
        assert!(!told.contains('\n'), "{told}");
    }
    for path in ["mismatches", "journal", "journal?since=0"] {
        is_harmless(&server.call(&Call::get(&format!("/__loomrec/{path}"))).text());
    }
    server.stop().expect(1);
}

#[test]
fn a_setting_of_a_project_acts_on_no_terminal() {
    let scene = Scene::new();
    let quoted = json!(ACTIVE).to_string().replace('\u{9b}', "\\u009b");
    for line in
        [format!("mode = {quoted}\n"), format!("{quoted} = 1\n"), format!("drain = {quoted}\n")]
    {
        fs::write(scene.path("loomrec.toml"), &line).unwrap();
        let mut record = command(scene.dir(), &["record", "-r", "run.json"]);
        record.env("TERM", "xterm");
        is_harmless(&Terminal::spawn(record, false).end().1);
    }
}

#[test]
fn a_message_begins_on_a_line_of_its_own_after_what_a_command_left_on_the_terminal() {
    let shown = |term: &str, more: &[&str], text: &str| {
        let scene = Scene::new();
        let args = ["record", "--allow-empty", "-r", "run.json"];
        let mut command = command(scene.dir(), &[&args[..], more].concat());
        command.args(["--", "printf", "%s", text]).env("TERM", term);
        let (code, shown) = Terminal::spawn(command, false).end();
        assert_eq!(code, Some(0), "{shown}");
        shown
    };
    // The terminal has 100 columns: the blanks go over its edge only if the line was not empty.
    let fresh = format!("{}\r\u{1b}[K", " ".repeat(99));
    let seen = shown("xterm", &[], "....");
    assert!(
        seen.contains(&format!("....{fresh}loomrec record: \u{1b}[1m\u{1b}[32mok")),
        "{seen:?}"
    );
    assert!(shown("dumb", &[], "....").contains("....loomrec record: ok"));
    assert!(shown("xterm", &["--log-format", "json"], "....").contains("....{\"level\""));
}
