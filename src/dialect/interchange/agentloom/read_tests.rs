use std::ops::ControlFlow;

use super::super::super::{ForeignFormat, SkipCause, read as find};
use super::*;

fn found(text: &str) -> (Vec<FoundItem>, Option<String>) {
    let mut items = Vec::new();
    let done = find(ForeignFormat::AgentLoom, &mut text.as_bytes(), &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done.err().map(|error| error.to_string()))
}

fn problem(text: &str) -> String {
    found(text).1.unwrap_or_else(|| panic!("it was read: {text}"))
}

const HASH: &str = "3fa1e9653c6dc8faf7fdaff60ddc57555f47b1affc7602d625e58fa7a4523a7c";

#[test]
fn entries_are_found_with_what_they_lack() {
    let text = format!(
        "{{\"_version\": 2, \"_note\": [1], \"ask\": {{\"content\": \"a\"}}, \
         \"turns\": [{{\"content\": \"b\", \"request_hash\": \"{HASH}\"}}, \
         {{\"content\": null, \"usage\": {{\"prompt_tokens\": 1, \"completion_tokens\": 0, \
         \"total_tokens\": 1}}}}], \
         \"{HASH}\": {{\"content\": \"c\", \"mine\": 1}}}}"
    );
    let (items, problem) = found(&text);
    assert_eq!(problem, None);
    let told: Vec<(String, String, Vec<&str>)> = items
        .into_iter()
        .map(|item| match item {
            FoundItem::Entry(named) => {
                (named.place, named.entry.content.unwrap_or_default(), named.lost)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let places: Vec<_> = told.iter().map(|(place, said, _)| (&place[..], &said[..])).collect();
    assert_eq!(places, [("ask", "a"), ("turns", "b"), ("turns#2", ""), (HASH, "c")]);
    assert!(told[0].2[0].contains("any call gets the answer"), "{told:?}");
    assert!(told[1].2[0].contains("their step id and their hash"), "{told:?}");
    assert_eq!(told[3].2, ["requests: calls are known by their hash alone"]);
}

#[test]
fn entry_without_an_answer_is_lost_unless_it_says_that_the_model_was_silent() {
    for answer in ["{}", "{\"content\": null}", "{\"content\": \"\", \"tool_calls\": []}"] {
        let (items, _) = found(&format!("{{\"_version\": 2, \"ask\": {answer}}}"));
        let [FoundItem::Left(left)] = &items[..] else { panic!("{answer}: {items:?}") };
        assert_eq!(left.cause, SkipCause::Damaged);
        assert!(left.reason.contains("does not hold its answer"), "{left:?}");
    }
}

#[test]
fn what_is_no_recording_of_version_2_is_refused_with_what_helps() {
    let old = problem("{\"a\": {\"content\": \"b\"}, \"_version\": 1}");
    assert!(old.contains("after entry 1") && old.contains("loomrec record"), "{old}");
    assert!(problem("{\"_version\": \"2\"}").contains("/_version"));
    assert!(problem("{\"_loomrec\": {}}").contains("use it as it is"));
    assert!(problem("{\"a\": {}, \"a\": {}}").contains("the key \"a\" occurs twice"));
    let wrong = problem("{\"a\": {}, \"b\": {\"usage\": 7}}");
    assert!(wrong.contains("after entry 1") && wrong.contains("\"b\": "), "{wrong}");
    assert!(wrong.contains("/usage"), "{wrong}");
    assert!(problem("{\"a\": 7}").contains("the entry \"a\""));
    assert!(problem("[]").contains("a recording of AgentLoom's"));
    assert!(problem("").contains("EOF"));
    assert!(problem("{\"a\": {\"content\": \"b").contains("EOF"));
    let deep = problem(&format!("{{\"a\": {{\"x\": {}", "[".repeat(100_000)));
    assert!(deep.contains("EOF") || deep.contains("recursion"), "{deep}");
    let closed = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(problem(&format!("{{\"a\": {{\"x\": {closed}}}}}")).contains("recursion"));
}

#[test]
fn list_under_a_hash_is_left_out() {
    let (items, _) = found(&format!("{{\"{HASH}\": [{{}}]}}"));
    assert!(matches!(&items[..], [FoundItem::Left(left)] if left.reason.contains("under a hash")));
}
