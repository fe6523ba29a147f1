//! `show`, for people and as text for git: the new part of a call.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::support::conversation::{CHAT_FORM, FORMS, SYSTEM, text};

/// The lines of two texts that only one of them has, each as often as it has it more.
fn changed_lines(one: &str, other: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    one.lines().for_each(|line| *counts.entry(line).or_default() -= 1);
    other.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let changed = counts.into_iter().filter(|(_, count)| *count != 0);
    changed.flat_map(|(line, count)| vec![line.to_owned(); count.unsigned_abs() as usize]).collect()
}

#[test]
fn show_of_a_late_turn_has_what_is_new_in_each_providers_form() {
    for form in &FORMS {
        let calls = RecordedCalls::conversation(form, TURNS, text);
        let scene = scene(&[("run.json", &calls)]);
        let (key, earlier) = (calls.key(150), &calls.key(149)[..12]);
        let shown = output(&scene, &["show", "run.json", key], 0);
        assert_few_lines(&shown);
        for new in [text(297), text(298), text(299)] {
            assert!(shown.contains(&new), "{} lacks {new:?}:\n{shown}", form.path);
        }
        for old in [&text(296), &text(0), "tool_7"] {
            assert!(!shown.contains(old), "{} has {old:?}:\n{shown}", form.path);
        }
        let note = format!(" {} as in {earlier} (turn 149); --full shows them\n", form.noun);
        assert!(shown.contains(&note), "{} lacks {note:?}:\n{shown}", form.path);
        assert!(shown.contains(&format!("  turn       150, after {earlier}\n")), "{shown}");
        let full = output(&scene, &["show", "run.json", key, "--full"], 0);
        assert!(full.contains(&text(0)) && full.contains("tool_7") && !full.contains("as in"));
        let whole = json_of(&scene, &["show", "run.json", key, "--json"], 0);
        assert!(whole.to_string().contains(&text(0)), "{}", form.path);
        let first = output(&scene, &["show", "run.json", calls.key(1)], 0);
        assert!(!first.contains("as in") && !first.contains("turn"), "{first}");
    }
}

#[test]
fn text_for_git_has_what_is_new_and_a_changed_message_changes_one_call_of_it() {
    for form in &FORMS {
        let calls = RecordedCalls::conversation(form, TURNS, text);
        let other = RecordedCalls::conversation(form, TURNS, |at| match at {
            2 => "Something else.".to_owned(),
            at => text(at),
        });
        let scene = scene(&[("a.json", &calls), ("b.json", &other)]);
        let [one, two] = ["a.json", "b.json"].map(|name| output(&scene, &["show", name], 0));
        let lines = one.lines().count();
        assert!(lines < 15 * TURNS + 200, "{}: {lines} lines", form.path);
        assert_eq!(one.matches(&text(297)).count(), 2, "an answer, and then a part of the history");
        let changed = changed_lines(&one, &two);
        assert!(changed.len() == 2, "{}: {changed:#?}", form.path);
        assert!(changed.iter().any(|line| line.contains("Something else.")), "{changed:?}");
        let full = output(&scene, &["show", "--full", "a.json"], 0);
        assert_eq!(full.matches(&text(0)).count(), TURNS, "{}", form.path);
    }
}

#[test]
fn turn_that_is_inserted_changes_the_text_of_two_calls() {
    let calls = RecordedCalls::conversation(CHAT_FORM, TURNS, text);
    let longer = RecordedCalls::conversation(CHAT_FORM, TURNS + 1, |at| match at {
        0..20 => text(at),
        20 | 21 => format!("inserted {at}"),
        at => text(at - 2),
    });
    let scene = scene(&[("a.json", &calls), ("b.json", &longer)]);
    let [one, two] = ["a.json", "b.json"].map(|name| output(&scene, &["show", name], 0));
    let changed = changed_lines(&one, &two);
    assert!(changed.len() < 20, "{changed:#?}");
}

#[test]
fn agents_that_take_turns_continue_their_own_conversations() {
    let agent = |name: &'static str| {
        RecordedCalls::conversation(CHAT_FORM, 20, move |at| format!("{name} {at}"))
    };
    let calls = agent("first").alternate(agent("second"));
    let scene = scene(&[("run.json", &calls)]);
    let shown = output(&scene, &["show", "run.json", calls.key(40)], 0);
    assert!(shown.contains(&format!("turn       20, after {}\n", &calls.key(38)[..12])), "{shown}");
    assert!(shown.contains("second 38") && !shown.contains("first"), "{shown}");
    let listed = output(&scene, &["show", "run.json"], 0);
    assert_eq!(listed.matches("== continues the call 2 above\n").count(), 38, "{listed}");
}

#[test]
fn changed_prompt_and_changed_message_are_shown_beside_what_is_new() {
    let mut calls = RecordedCalls::default();
    let body = |turn: usize, edited: bool| {
        let mut texts: Vec<String> = (0..2 * turn - 1).map(text).collect();
        if edited {
            texts[4] = "An edited message.".to_owned();
        }
        let mut body = (CHAT_FORM.body)(&texts);
        body["messages"][0]["content"] = json!(format!("{SYSTEM}\nIt is {turn} o'clock."));
        body
    };
    for turn in 1..=30 {
        calls.add(CHAT_FORM, body(turn, turn == 30), "ok");
    }
    let scene = scene(&[("run.json", &calls)]);
    let shown = output(&scene, &["show", "run.json", calls.key(20)], 0);
    assert_few_lines(&shown);
    assert!(
        shown.contains("It is 20 o'clock.") && shown.contains("… 37 messages as in"),
        "{shown}"
    );
    assert!(shown.contains("has beside this: 1 message in another form\n"), "{shown}");
    let shown = output(&scene, &["show", "run.json", calls.key(30)], 0);
    assert_few_lines(&shown);
    for part in ["An edited message.", "… 4 messages as in", "… 52 messages as in", &text(58)] {
        assert!(shown.contains(part), "{part:?} not in\n{shown}");
    }
    assert!(!shown.contains(&text(4)), "{shown}");
}

#[test]
fn compacted_history_is_shown_whole_and_continued_from_there() {
    let mut calls = RecordedCalls::conversation(CHAT_FORM, 50, text);
    let mut texts = vec!["A summary of all before.".to_owned()];
    let compacted = calls.add(CHAT_FORM, (CHAT_FORM.body)(&texts), "ok");
    texts.extend(["ok".to_owned(), "And then?".to_owned()]);
    let next = calls.add(CHAT_FORM, (CHAT_FORM.body)(&texts), "Nothing.");
    let scene = scene(&[("run.json", &calls)]);
    let shown = output(&scene, &["show", "run.json", &compacted], 0);
    assert!(shown.contains("A summary of all before.") && shown.contains("tool_7"), "{shown}");
    let shown = output(&scene, &["show", "run.json", &next], 0);
    let note = format!("… 2 messages as in {} (turn 1)", &compacted[..12]);
    assert!(shown.contains(&note) && shown.contains("And then?"), "{shown}");
}

#[test]
fn history_that_the_provider_holds_is_named() {
    let form = &FORMS[2];
    let mut calls = RecordedCalls::default();
    for turn in 1..=3 {
        let mut body = (form.body)(&["Go on.".to_owned()]);
        if turn > 1 {
            body["previous_response_id"] = json!(format!("resp_{}", turn - 1));
        }
        calls.add(form, body, "ok");
        let answer = json!({ "id": format!("resp_{turn}"), "object": "response", "output": [] });
        calls.entry_mut(turn)["response"] = json!({ "status": 200,
            "headers": { "content-type": "application/json" }, "body": answer });
    }
    let scene = scene(&[("run.json", &calls)]);
    let shown = output(&scene, &["show", "run.json", calls.key(3)], 0);
    let turn = format!("turn       3, after {}, which its provider holds\n", &calls.key(2)[..12]);
    assert!(shown.contains(&turn), "{shown}");
    assert!(shown.contains("Go on.") && !shown.contains("tool_7"), "{shown}");
    let listed = output(&scene, &["show", "run.json"], 0);
    assert_eq!(listed.matches("Go on.").count(), 3, "{listed}");
    assert_eq!(listed.matches("== continues the call above\n").count(), 2, "{listed}");
}

#[test]
fn recording_without_a_conversation_is_shown_as_it_is() {
    let mut calls = RecordedCalls::default();
    for at in 0..5 {
        let body =
            json!({ "model": "text-embedding-3-small", "input": ["the same", at.to_string()] });
        calls.add(CHAT_FORM, body, "");
    }
    let scene = scene(&[("run.json", &calls)]);
    for number in 1..=5 {
        let args = ["show", "run.json", calls.key(number)];
        let shown = output(&scene, &args, 0);
        assert_eq!(shown, output(&scene, &[&args[..], &["--full"]].concat(), 0));
        assert!(shown.contains("the same"), "{shown}");
    }
    let listed = output(&scene, &["show", "run.json"], 0);
    assert_eq!(listed, output(&scene, &["show", "--full", "run.json"], 0));
}
