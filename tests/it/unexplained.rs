//! Tests of what a miss shows: the first difference that no value of the run and no rule explains.

use serde_json::json;

use crate::support::shape::{CHAT, chat_answer};
use crate::support::{Answer, Call, Scene, Server, Upstream};

const ONE: &str = "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b";
const OTHER: &str = "0190ffff-1111-7222-8333-444455556666";
const RULE: &str = "user: session {{uuid}}";

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("x")))
}

fn call(contents: &[&str]) -> Call {
    let messages: Vec<_> =
        contents.iter().map(|content| json!({ "role": "user", "content": content })).collect();
    Call::post(CHAT, json!({ "model": "gpt-4o-mini", "messages": messages }).to_string())
}

/// A recording of one call.
fn recorded(flags: &[&str], contents: &[&str]) -> Scene {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, flags);
    server.call(&call(contents)).expect(200);
    server.stop().expect(0);
    scene
}

/// The message of the miss that a call with these contents gets.
fn message(server: &Server, contents: &[&str]) -> String {
    let answer = server.call(&call(contents)).expect(422);
    answer.json()["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn ids_that_a_rule_explains_are_not_the_difference_that_is_shown() {
    let text = |id: &str, city: &str| {
        let filler = "é\n\"x\" ".repeat(900);
        format!("session {id}: {filler}What is the weather in {city}? {filler}")
    };
    let alone = |id: &str| format!("session {id}");
    let scene = recorded(&["--normalize", RULE], &[&alone(ONE), &text(ONE, "Oslo")]);
    let server = scene.replay(&["--strict"]);
    let said = message(&server, &[&alone(OTHER), &text(OTHER, "Rome")]);
    for part in ["/messages/1/content", "weather in Oslo?", "weather in Rome?"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for part in [ONE, OTHER, "/messages/0/content", "0190a5b2", "0190ffff"] {
        assert!(!said.contains(part), "{part}: {said}");
    }
    assert!(said.len() < 1500, "{}", said.len());
    server.stop().expect(1);
}

#[test]
fn paths_of_the_run_are_not_the_difference_that_is_shown() {
    let text = |root: &str, word: &str| {
        format!("You work in {root}/src. {} Mend the {word} in {root}/src/a.rs.", "z".repeat(3000))
    };
    let (old, new) = ("/home/alice/projects/app", "/srv/ci/build-7/app");
    let scene = recorded(&["--var", &format!("root={old}")], &["hello", &text(old, "parser")]);
    let server = scene.replay(&["--var", &format!("root={new}")]);
    let said = message(&server, &["hello", &text(new, "lexer")]);
    for part in ["Mend the parser", "Mend the lexer"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("alice"), "{said}");
    server.stop().expect(1);
}

#[test]
fn ids_that_are_not_explained_together_are_shown_as_they_are() {
    let text = |id: &str| format!("session {id}");
    let scene = recorded(&["--normalize", RULE], &[&text(ONE), &text(ONE)]);
    let server = scene.replay(&["--strict"]);
    // Equal ids were recorded, and these are not.
    let said = message(&server, &[&text(ONE), &text(OTHER)]);
    for part in ["/messages/1/content", ONE, OTHER] {
        assert!(said.contains(part), "{part}: {said}");
    }
    server.stop().expect(1);
}

#[test]
fn numbers_that_a_rule_explains_are_not_shown_and_others_are() {
    let (scene, upstream) = (Scene::new(), upstream());
    let body = |wait: f64, seed: u32| {
        let messages = json!([{ "role": "user", "content": "hi" }]);
        let body = json!({ "model": "m", "messages": messages, "wait": wait, "seed": seed });
        Call::post(CHAT, body.to_string())
    };
    let server = scene.record(&upstream, &["--normalize", "/wait: epoch"]);
    server.call(&body(1_795_392_426.5, 1)).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&[]);
    let answer = server.call(&body(1_795_392_427.7, 2)).expect(422).json();
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("/seed: recorded 1 now 2") && !said.contains("/wait"), "{said}");
    server.stop().expect(1);
}

#[test]
fn values_in_frames_are_not_the_difference_that_is_shown() {
    let text = |day: &str, word: &str| format!("Today is {day}. {} Be {word}.", "z".repeat(3000));
    let day = |day: &str| format!("day={day}");
    let frame = "user: Today is {{day}}.";
    let scene = recorded(
        &["--bind", "--normalize", frame, "--var", &day("2026-11-03")],
        &[&text("November 3, 2026", "kind")],
    );
    let server = scene.replay(&["--strict", "--var", &day("2026-11-04")]);
    server.call(&call(&[&text("November 4, 2026", "kind")])).expect(200);
    let said = message(&server, &[&text("November 4, 2026", "loud")]);
    for part in ["Be kind.", "Be loud."] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("November"), "{said}");
    // A day that is neither the recorded one nor this one.
    let said = message(&server, &[&text("November 5, 2026", "kind")]);
    assert!(said.contains("November 5, 2026") && !said.contains("Be kind."), "{said}");
    server.stop().expect(1);
}

#[test]
fn what_a_preset_binds_is_not_the_difference_that_is_shown() {
    let text = |day: &str, word: &str| {
        format!(
            "<environment_context>\n<current_date>{day}</current_date>{} Be {word}.",
            "z".repeat(3000)
        )
    };
    let by_codex = |day: &str, word: &str| {
        call(&[&text(day, word)]).header("user-agent: codex_cli_rs/0.171.0")
    };
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--var", "day=2026-11-03"]);
    server.call(&by_codex("2026-11-03", "kind")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--var", "day=2026-11-04"]);
    server.call(&by_codex("2026-11-04", "kind")).expect(200);
    let answer = server.call(&by_codex("2026-11-04", "loud")).expect(422).json();
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("Be kind.") && said.contains("Be loud."), "{said}");
    assert!(!said.contains("2026-11"), "{said}");
    server.stop().expect(1);
}
