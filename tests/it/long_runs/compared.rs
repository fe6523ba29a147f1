//! `diff` of two runs: each change once.

use serde_json::json;

use super::*;
use crate::support::conversation::{CHAT_FORM, FORMS, text};

const DIFF: [&str; 3] = ["diff", "a.json", "b.json"];

/// The output of `diff` with more arguments.
#[track_caller]
fn diff(scene: &Scene, more: &[&str]) -> String {
    output(scene, &[&DIFF, more].concat(), 1)
}

/// The differences that `diff --json` reports, as places.
fn places(found: &Value) -> Vec<&str> {
    let calls = found["calls"].as_array().unwrap().iter();
    let all = calls.flat_map(|call| call["differences"].as_array().unwrap());
    all.map(|difference| difference["place"].as_str().unwrap()).collect()
}

#[test]
fn changed_early_message_is_shown_once_in_each_providers_form() {
    for form in &FORMS {
        let old = RecordedCalls::conversation(form, TURNS, text);
        let new = RecordedCalls::conversation(form, TURNS, |at| match at {
            0 => "What was said at place 0, or something else.".to_owned(),
            at => text(at),
        });
        let scene = scene(&[("a.json", &old), ("b.json", &new)]);
        let shown = diff(&scene, &[]);
        assert_few_lines(&shown);
        // Cohere's first version has a message in another member as long as it is the newest one.
        let times = if form.path == "/v1/chat" { 2 } else { 1 };
        assert_eq!(shown.matches("or something else").count(), times, "{}\n{shown}", form.path);
        let repeated = TURNS - times;
        let line = format!("  {repeated} calls changed only as shown above\n");
        assert!(shown.contains(&line), "{}\n{shown}", form.path);
        let total = format!("200 calls changed ({repeated} as calls before them) · 0 the same\n");
        assert!(shown.ends_with(&total), "{shown}");
        let found = json_of(&scene, &[&DIFF[..], &["--json"]].concat(), 1);
        assert_eq!(places(&found).len(), times, "{}", form.path);
        let calls = found["calls"].as_array().unwrap();
        assert_eq!(calls.len(), TURNS);
        assert!(
            calls[times..].iter().all(|call| call["as_before"] == 1 && call["state"] == "changed")
        );
        let last = &calls[TURNS - 1];
        assert_eq!(
            (&last["a"]["key"], &last["b"]["key"]),
            (&json!(old.key(200)), &json!(new.key(200)))
        );
        assert_few_lines(&diff(&scene, &["--markdown"]));
    }
}

#[test]
fn equal_conversations_do_not_differ() {
    for form in &FORMS {
        let calls = RecordedCalls::conversation(form, TURNS, text);
        let scene = scene(&[("a.json", &calls), ("b.json", &calls)]);
        assert_eq!(output(&scene, &DIFF, 0), "no difference: 200 calls the same\n");
    }
}

#[test]
fn runs_that_part_are_compared_turn_by_turn() {
    let old = RecordedCalls::conversation(CHAT_FORM, 60, text);
    let new = RecordedCalls::conversation(CHAT_FORM, 60, |at| match at {
        0..81 => text(at),
        at => format!("New words at place {at}."),
    });
    let scene = scene(&[("a.json", &old), ("b.json", &new)]);
    let shown = diff(&scene, &[]);
    // Each answer is shown where it was given, and once where it becomes a part of the history.
    for at in 81..120 {
        let times = if at % 2 == 1 && at < 119 { 2 } else { 1 };
        let words = format!("New words at place {at}.");
        assert_eq!(shown.matches(&words).count(), times, "{words}\n{shown}");
    }
    let lines = shown.lines().count();
    assert!(lines < 20 * 20 + 20, "{lines} lines:\n{shown}");
    assert!(shown.contains("more places as in calls before this one\n"), "{shown}");
}

#[test]
fn inserted_turn_is_no_change_of_those_after_it() {
    let old = RecordedCalls::conversation(CHAT_FORM, 60, text);
    let new = RecordedCalls::conversation(CHAT_FORM, 61, |at| match at {
        0..20 => text(at),
        20 | 21 => format!("Inserted at place {at}."),
        at => text(at - 2),
    });
    let scene = scene(&[("a.json", &old), ("b.json", &new)]);
    let found = json_of(
        &scene,
        &[&DIFF[..], &["--json", "--ignore", "answer", "--ignore", "response"]].concat(),
        1,
    );
    let places = places(&found);
    assert!(places.len() < 8, "{places:?}");
    assert_few_lines(&diff(&scene, &["--ignore", "answer", "--ignore", "response"]));
}

#[test]
fn rules_about_messages_leave_each_change_shown_once() {
    let old = RecordedCalls::conversation(CHAT_FORM, 50, text);
    let new = RecordedCalls::conversation(CHAT_FORM, 50, |at| match at {
        0 => "Something else was said here.".to_owned(),
        at => text(at),
    });
    let scene = scene(&[("a.json", &old), ("b.json", &new)]);
    let shown = diff(&scene, &["--ignore", "/messages/*/name"]);
    assert_eq!(shown.matches("Something else").count(), 1, "{shown}");
    assert_few_lines(&shown);
    output(&scene, &[&DIFF[..], &["--ignore", "/messages/1/content"]].concat(), 0);
}

#[test]
fn agents_that_take_turns_are_compared_with_their_own_like() {
    let agent = |name: &'static str, changed: bool| {
        RecordedCalls::conversation(CHAT_FORM, 30, move |at| match (at, changed) {
            (2, true) => format!("{name} says something else"),
            _ => format!("{name} says words at {at}"),
        })
    };
    let old = agent("first", false).alternate(agent("second", false));
    let new = agent("first", true).alternate(agent("second", false));
    let scene = scene(&[("a.json", &old), ("b.json", &new)]);
    let shown = diff(&scene, &[]);
    assert_few_lines(&shown);
    assert_eq!(shown.matches("something else").count(), 1, "{shown}");
    assert!(
        shown.ends_with("29 calls changed (28 as calls before them) · 31 the same\n"),
        "{shown}"
    );
}

#[test]
fn change_of_all_calls_is_shown_in_the_first_one() {
    let calls = |model: &str, prompt: &str| {
        let mut calls = RecordedCalls::default();
        for at in 0..20 {
            let messages = json!([{ "role": "system", "content": format!("You are a {prompt} judge of texts.") },
                { "role": "user", "content": format!("Which of the texts is right, {at} or {at}5?") }]);
            calls.add(CHAT_FORM, json!({ "model": model, "messages": messages }), "both");
        }
        calls
    };
    let (old, new) = (calls("gpt-4o", "strict"), calls("gpt-5", "kind"));
    let scene = scene(&[("a.json", &old), ("b.json", &new)]);
    let shown = diff(&scene, &["--ignore", "answer", "--ignore", "response"]);
    assert_eq!(shown.matches("+ You are a kind judge").count(), 1, "{shown}");
    assert_eq!(shown.matches("\"gpt-5\"").count(), 1, "{shown}");
    assert!(shown.contains("  19 calls changed only as shown above\n"), "{shown}");
}

#[test]
fn answers_that_change_are_always_shown() {
    let old = RecordedCalls::conversation(CHAT_FORM, 10, text);
    let mut new = RecordedCalls::conversation(CHAT_FORM, 10, |at| match at {
        0 => "Something else was said here.".to_owned(),
        at => text(at),
    });
    for number in 1..=10 {
        new.entry_mut(number)["content"] = json!("another answer");
    }
    let scene = scene(&[("a.json", &old), ("b.json", &new)]);
    let shown = diff(&scene, &[]);
    assert_eq!(shown.matches("another answer").count(), 10, "{shown}");
    assert_eq!(shown.matches("Something else").count(), 1, "{shown}");
    assert!(!shown.contains("only as shown above"), "{shown}");
}
