//! Tests of `ls` and `show`: the contents of a recording, for people and for programs.

use std::process::Stdio;

use serde_json::Value;

use crate::support::loomrec::command;
use crate::support::shape::{
    CHAT, chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Scene, Upstream};

/// A recording with a bit of everything, its times set by hand.
fn sample() -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
        _ if request.text().contains("cut") => Answer::stream().chunk("data: 1\n\n").close(),
        _ if request.text().contains("\"stream\":true") => {
            Answer::events(&chat_events(&["Hel", "lo."]))
        }
        _ if request.text().contains("fail") => {
            Answer::json(429, "{\"error\":{\"message\":\"no\"}}")
        }
        _ => Answer::json(200, chat_answer("Hello.")),
    });
    let calls = [
        chat("hi"),
        chat("hi"),
        chat_streamed("Say hello"),
        message("hi").header("x-loomrec-step-id: greet"),
        chat("fail"),
        chat_streamed("cut"),
    ];
    scene.recorded(&upstream, &calls);
    let blank = |pattern: &str, text: &str, with: &str| {
        regex::Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
    };
    let stamp = r#""recorded_at": "2026-11-21T22:47:48.818000Z""#;
    let text = blank(r#""recorded_at": "[^"]*""#, &scene.text(), stamp);
    let text = blank(r#""latency_ms": [0-9.]+"#, &text, r#""latency_ms": 1843.2"#);
    scene.write(blank(r"(?m)^(\s*)\[[0-9.]+, ", &text, "${1}[12.5, "));
    scene
}

#[test]
fn ls_shows_a_line_an_entry() {
    let scene = sample();
    let ended = scene.run(&["ls", "run.json"]).expect(0);
    insta::assert_snapshot!("ls", ended.stdout);
}

#[test]
fn ls_as_json_tells_the_same() {
    let scene = sample();
    let ended = scene.run(&["ls", "run.json", "--json"]).expect(0);
    let listed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let rows = listed.as_array().or_else(|| listed["entries"].as_array()).unwrap();
    assert_eq!(rows.len(), 6, "{}", ended.stdout);
    for part in ["greet", "anthropic", "claude-sonnet-4-20250514", "upstream_abort", "429"] {
        assert!(ended.stdout.contains(part), "{part} not in {}", ended.stdout);
    }
}

#[test]
fn show_gives_one_entry_in_full() {
    let scene = sample();
    let ended = scene.run(&["show", "run.json", "greet"]).expect(0);
    insta::assert_snapshot!("show_complete", ended.stdout);
    let hash = scene.takes()[2].0.clone();
    let streamed = scene.run(&["show", "run.json", &hash]).expect(0);
    insta::assert_snapshot!("show_streamed", streamed.stdout);
    let short = scene.run(&["show", "run.json", &hash[..12]]).expect(0);
    assert_eq!(short.stdout, streamed.stdout);
}

#[test]
fn show_as_json_holds_request_answer_and_timeline() {
    let scene = sample();
    let hash = scene.takes()[2].0.clone();
    let ended = scene.run(&["show", "run.json", &hash, "--json"]).expect(0);
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = shown.to_string();
    for part in ["Say hello", "Hello.", "12.5", "gpt-4o-mini"] {
        assert!(text.contains(part), "{part} not in {text}");
    }
}

#[test]
fn an_entry_that_is_not_there_is_an_answer_of_no() {
    let scene = sample();
    let ended = scene.run(&["show", "run.json", "no-such-entry"]);
    assert!([1, 2].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
    assert!(ended.stderr.contains("no-such-entry"), "{}", ended.stderr);
}

#[test]
fn nothing_is_coloured_or_written_where_there_is_no_terminal() {
    let scene = sample();
    let before = scene.text();
    for args in [&["ls", "run.json"][..], &["show", "run.json", "greet"]] {
        let ended = scene.run(args).expect(0);
        assert!(!ended.stdout.contains('\u{1b}'), "{:?}", ended.stdout);
    }
    assert_eq!(scene.text(), before);
}

#[test]
fn a_closed_stdout_is_no_error() {
    let scene = sample();
    for args in [&["ls", "run.json"][..], &["show", "run.json", "greet"], &["--help"]] {
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let mut command = command(scene.dir(), args);
        let output = command.stdin(Stdio::null()).stdout(write).stderr(Stdio::piped());
        let output = output.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn ls_and_show_tell_what_each_call_asks() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello.")));
    let result = serde_json::json!({ "model": "gpt-4o-mini", "messages": [
        { "role": "user", "content": "How warm is it?" },
        { "role": "assistant", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "warmth", "arguments": "{}" } },
        ] },
        { "role": "tool", "tool_call_id": "c1", "content": "21 °C" },
    ] });
    let long = format!("begin {}end", "日本 ".repeat(100));
    let hostile = chat("a\n\u{1b}]0;PWNED\u{7} \u{202e}b").header("x-loomrec-step-id: plan");
    let calls =
        [hostile, chat(&long), Call::post(CHAT, result.to_string()), chat(&"x".repeat(5000))];
    scene.recorded(&upstream, &calls);
    let asks = |args: &[&str]| -> Vec<String> {
        let told = scene.run(args).expect(0).stdout;
        let place = told.find("ASKS").unwrap();
        told.lines().skip(1).take(4).map(|line| line.chars().skip(place).collect()).collect()
    };
    let short = asks(&["ls", "run.json"]);
    assert_eq!(short[0], "a \\u{1b}]0;PWNED\\u{7} \\u{202e}b");
    // Each of these characters takes two columns of sixty.
    assert_eq!(short[1], format!("begin {}日…", "日本 ".repeat(10)));
    assert_eq!(short[2], "tool result: 21 °C");
    assert_eq!(short[3], format!("{}…", "x".repeat(59)));
    let wide = asks(&["ls", "--full", "run.json"]);
    assert_eq!((&wide[0], &wide[1]), (&short[0], &long));
    assert_eq!(wide[3], format!("{}…", "x".repeat(3999)));
    let told = scene.run(&["ls", "--json", "run.json"]).expect(0).stdout;
    let rows: Vec<Value> = serde_json::from_str(&told).unwrap();
    assert_eq!((&rows[1]["asks"], &rows[2]["asks"]), (&long.into(), &"tool result: 21 °C".into()));
    scene.run(&["ls", "--full", "--json", "run.json"]).expect(2);
    let told = scene.run(&["show", "run.json", "--json"]).expect(2).stderr;
    assert!(told.contains("loomrec show run.json plan          # a \\u{1b}]0;PWNED"), "{told}");
    assert!(told.contains("  # tool result: 21 °C\n"), "{told}");
}
