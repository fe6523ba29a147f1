use serde_json::{Value, json};

use super::*;
use loomrec_recording::RecordedRequest;

fn rules(fixtures: &Value) -> FixtureList {
    let mut rules = FixtureList::default();
    rules.read("", &mut json!({ "fixtures": fixtures }).to_string().as_bytes()).unwrap();
    rules
}

fn entry(messages: &Value) -> Entry {
    let body = json!({ "model": "gpt-4o-mini-2024-07-18", "messages": messages, "temperature": 0 });
    let request = RecordedRequest {
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        query: String::new(),
        headers: Vec::new(),
        other_headers: Default::default(),
        packed: None,
        body: body.to_string().into(),
    };
    Entry { request: Some(request), upstream: Some("mine".to_owned()), ..Entry::default() }
}

/// Returns the answer to a request.
fn said(rules: &mut FixtureList, messages: &Value) -> Option<String> {
    let item =
        rules.answer_request("k", Some("s"), &entry(messages), &UpstreamAddresses::default())?;
    let FoundItem::Words(words) = item else { panic!("{item:?}") };
    assert_eq!(words.own.as_ref().unwrap().step.as_deref(), Some("s"));
    match words.said {
        super::super::super::exchange::TextAnswer::Answer(answer) => Some(answer.content),
        other => panic!("{other:?}"),
    }
}

fn user(text: &str) -> Value {
    json!([{ "role": "user", "content": text }])
}

#[test]
fn request_is_answered_by_the_first_fixture_that_holds() {
    let mut rules = rules(&json!([
        { "match": { "userMessage": "city", "model": "gpt-4o" }, "response": { "content": "never" } },
        { "match": { "userMessage": "city", "model": "gpt-4o-mini", "hasToolResult": true },
          "response": { "content": "told" } },
        { "match": { "userMessage": "city", "systemMessage": ["a", "b"] }, "response": { "content": "system" } },
        { "match": { "userMessage": "city", "turnIndex": 1 }, "response": { "content": "second" } },
        { "match": { "userMessage": "city" }, "response": { "content": "any" } },
    ]));
    assert_eq!(said(&mut rules, &user("which city?")).as_deref(), Some("any"));
    assert_eq!(said(&mut rules, &user("hi")), None);
    let system =
        json!([{ "role": "system", "content": "b a" }, { "role": "user", "content": "city" }]);
    assert_eq!(said(&mut rules, &system).as_deref(), Some("system"));
    let again = json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" },
        { "role": "user", "content": "city" }]);
    assert_eq!(said(&mut rules, &again).as_deref(), Some("second"));
    let result = json!([{ "role": "user", "content": "city" },
        { "role": "assistant", "content": null, "tool_calls": [] },
        { "role": "tool", "tool_call_id": "c", "content": "z" }]);
    assert_eq!(said(&mut rules, &result).as_deref(), Some("told"));
    let unused: Vec<String> = rules.unused_fixtures().map(|left| left.place).collect();
    assert_eq!(unused, ["fixture 1"]);
}

#[test]
fn fixtures_of_a_sequence_answer_one_call_each() {
    let one = |place: u64| {
        json!({ "match": { "userMessage": "hi", "sequenceIndex": place },
        "response": { "content": place.to_string() } })
    };
    let mut rules = rules(&json!([one(1), one(0)]));
    assert_eq!(said(&mut rules, &user("hi")).as_deref(), Some("0"));
    assert_eq!(said(&mut rules, &user("hi")).as_deref(), Some("1"));
    assert_eq!(said(&mut rules, &user("hi")), None);
}
