//! Tests of the inspector: its page, who may open it, and what it shows of runs and files.

mod files;
mod history;
mod queries;
mod questions;
mod run;
mod socket;

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::loomrec::{Process, command};
use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Gate, Response, Scene, Server, Upstream};

/// A request that the page makes.
fn get(path: &str) -> Call {
    Call::get(&format!("/__loomrec/{path}")).header("host: localhost")
}

/// All details of a call, once it is over.
#[track_caller]
fn details(server: &Server, seq: u64) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = server.call(&get(&format!("call?seq={seq}")));
        if answer.status == 200 {
            return answer.json();
        }
        assert!(Instant::now() < until, "never there: {}", answer.text());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The texts of the messages on one side.
fn message_texts(side: &Value) -> Vec<String> {
    let messages = side["messages"].as_array().unwrap_or_else(|| panic!("{side:#}"));
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

fn recording_of(prompts: &[&str]) -> Scene {
    let scene = Scene::new();
    let calls: Vec<Call> = prompts.iter().map(|prompt| chat(prompt)).collect();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("hi"))), &calls);
    scene
}

/// The text between two marks.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    text.split_once(start).unwrap().1.split_once(end).unwrap().0
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[test]
fn the_page_may_run_nothing_but_its_own_script() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    let page = server.call(&get("")).expect(200);
    let text = page.text();
    let policy = page.header("content-security-policy").unwrap();
    let script = between(&text, "<script type=\"module\">", "</script>");
    let style = between(&text, "<style>", "</style>");
    assert!(script.len() > 1000 && style.len() > 500, "the page is empty");
    assert_eq!(text.matches("<script").count(), 1, "nothing else is let run");
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(script),
        hash(style)
    );
    assert_eq!(policy, expected);
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    for place in ["/*STYLE*/", "/*SCRIPT*/"] {
        assert!(!text.contains(place), "{place} is still there");
    }
    let moved = server.call(&Call::get("/__loomrec").header("host: localhost")).expect(308);
    assert_eq!(moved.header("location"), Some("/__loomrec/"));
    server.stop();
}

#[test]
fn data_is_given_as_data_and_only_read() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    for path in ["run", "journal?since=0", "call?seq=1"] {
        let answer = server.call(&get(path));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    for path in ["", "run", "journal?since=0&follow=1", "call?seq=1"] {
        let target = format!("/__loomrec/{path}");
        let refused = server.call(&Call::post(&target, "{}").header("host: localhost")).expect(405);
        assert_eq!(refused.header("allow"), Some("GET, HEAD"), "{path}");
        let head = server.call(&Call::new("HEAD", &target).header("host: localhost"));
        assert!([200, 404].contains(&head.status) && head.body().is_empty(), "{path}: {head:?}");
    }
    let unnamed = server.call(&get("call?seq=x")).expect(400).json();
    assert!(unnamed["error"].as_str().unwrap().contains("?seq=NUMBER"), "{unnamed}");
    server.call(&get("call?seq=99")).expect(404);
    server.call(&get("call?key=nobody&take=1")).expect(404);
    server.stop();
}

#[test]
fn no_other_page_gets_anything() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    for path in ["", "run", "journal?since=0", "call?seq=1"] {
        let target = format!("/__loomrec/{path}");
        server.call(&Call::get(&target).header("host: evil.example")).expect(403);
        let foreign = get(path).header("origin: https://evil.example");
        server.call(&foreign).expect(403);
        server.call(&get(path).header("origin: null")).expect(403);
    }
    // Another port of this machine is another origin; the page that this listener served is not.
    server.call(&get("run").header("origin: http://localhost:1")).expect(403);
    let host = format!("host: {}", server.address);
    let own = format!("origin: http://{}", server.address);
    server.call(&Call::get("/__loomrec/run").header(&host).header(&own)).expect(200);
    server.stop();
}

#[test]
fn a_run_with_a_token_gives_its_page_to_everyone_and_its_data_to_who_holds_it() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--control-token", "s3cret"]);
    let host = format!("host: {}", server.address);
    let ask = |path: &str| Call::get(&format!("/__loomrec/{path}")).header(&host);
    let page = server.call(&ask("")).expect(200);
    assert!(!page.text().contains("s3cret"));
    server.call(&Call::get("/__loomrec/").header("host: evil.example")).expect(403);
    for path in ["run", "journal?since=0", "call?seq=1"] {
        let refused = server.call(&ask(path)).expect(403).json();
        assert_eq!(refused["token_needed"], true, "{path}: {refused}");
        server.call(&ask(path).header("authorization: Bearer wrong")).expect(403);
        let held = ask(path).header("authorization: Bearer s3cret");
        assert!([200, 404].contains(&server.call(&held).status), "{path}");
        let foreign = ask(path).header("authorization: Bearer s3cret").header("origin: http://a.b");
        server.call(&foreign).expect(403);
    }
    let run = server.call(&ask("run").header("authorization: Bearer s3cret")).expect(200).json();
    assert_eq!(run["token_needed"], true);
    server.stop();
}
