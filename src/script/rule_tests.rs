use serde_json::{Value, json};

use crate::tests::observed;
use crate::{RuleLookup, Script, ScriptNotation, ScriptTurn};
use loomrec_recording::entry::ResponseEnd;
use loomrec_recording::normalized_request::NormalizedRequest;

fn try_script(value: &Value) -> Result<Script, String> {
    let text = value.to_string();
    Script::parse(text.as_bytes(), ScriptNotation::Json).map_err(|error| error.to_string())
}

fn rules(rules: Value) -> Script {
    try_script(&json!({ "rules": rules })).unwrap()
}

#[track_caller]
fn refused(rule: Value, parts: &[&str]) {
    let why = try_script(&json!({ "rules": [rule] })).unwrap_err();
    for part in parts {
        assert!(why.contains(part), "{part:?} is not in: {why}");
    }
}

fn messages(messages: Value) -> NormalizedRequest {
    observed("/v1/chat/completions", &json!({ "model": "gpt-4o", "messages": messages }))
}

fn user(text: &str) -> NormalizedRequest {
    messages(json!([{ "role": "user", "content": text }]))
}

/// Returns the text of the answer, or the reason why there is none.
fn said(script: &Script, request: &NormalizedRequest) -> Result<String, String> {
    let answered = script.answer(request, request.call.provider, RuleLookup::Pending);
    let chunks = answered.map_err(|why| why.to_string())?.rendered.delivery.chunks;
    let body: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let found = text("/choices/0/message/content").or_else(|| text("/content/0/text"));
    Ok(found.or_else(|| text("/error/message")).unwrap())
}

#[test]
fn the_first_rule_whose_conditions_hold_answers() {
    let script = rules(json!([
        { "when": { "user": { "equals": "hi" } }, "answer": "equal" },
        { "when": { "user": { "regex": "^ord(er|ers)\\b" } }, "answer": [{ "text": "regex" }] },
        { "when": { "user": "order", "system": { "contains": "terse" } }, "answer": "system" },
        { "when": { "tool_result": "42" }, "answer": "result" },
        { "when": { "user": "order", "model": ["m", "gpt-4o"], "provider": "openai" }, "answer": "last" },
        { "when": { "provider": "anthropic" }, "answer": "other" },
        { "when": { "tool": "weather" }, "error": { "status": 429, "message": "busy" } },
    ]));
    assert_eq!(said(&script, &user("hi")).unwrap(), "equal");
    assert_eq!(said(&script, &user("order 5")).unwrap(), "regex");
    let terse = json!([{ "role": "system", "content": "be terse" }, { "role": "user", "content": "an order" }]);
    assert_eq!(said(&script, &messages(terse)).unwrap(), "system");
    assert_eq!(said(&script, &user("an order")).unwrap(), "last");
    let result = json!([{ "role": "user", "content": "order" }, { "role": "assistant", "content": "" },
        { "role": "tool", "tool_call_id": "c", "content": "it is 42" }]);
    // The last user message still decides: a rule that stands earlier goes first.
    assert_eq!(said(&script, &messages(result)).unwrap(), "regex");
    let other = json!([{ "role": "user", "content": "x" }, { "role": "tool", "tool_call_id": "c", "content": "42" }]);
    assert_eq!(said(&script, &messages(other)).unwrap(), "result");
    let body =
        json!({ "model": "c", "max_tokens": 1, "messages": [{ "role": "user", "content": "x" }] });
    assert_eq!(said(&script, &observed("/v1/messages", &body)).unwrap(), "other");
    let body = json!({ "model": "x", "messages": [{ "role": "user", "content": "x" }],
        "tools": [{ "type": "function", "function": { "name": "weather" } }] });
    assert_eq!(said(&script, &observed("/v1/chat/completions", &body)).unwrap(), "busy");
    assert_eq!(script.unused_rules(), Vec::<String>::new());
}

#[test]
fn a_call_that_no_rule_answers_is_told_what_was_looked_at_and_the_nearest_rule() {
    let script = rules(json!([
        { "name": "refund", "when": { "user": "refund", "system": "x" }, "answer": "a" },
        { "name": "order", "when": { "user": { "equals": "order" } }, "answer": "b" },
    ]));
    let why = said(&script, &user("hello")).unwrap_err();
    for part in [
        "none of the script's 2 rules",
        "\"hello\"",
        "\"gpt-4o\"",
        "rule order",
        "equals \"order\"",
    ] {
        assert!(why.contains(part), "{part:?} is not in: {why}");
    }
    assert_eq!(script.unused_rules(), ["refund", "order"]);
}

#[test]
fn calls_are_counted_by_rule_and_session_as_the_other_conditions_hold() {
    let script = rules(json!([
        { "when": { "user": "a", "call": 2 }, "answer": "second" },
        { "when": { "user": "a", "call": [3, 4] }, "answer": "later" },
        { "when": { "user": "a" }, "times": 1, "answer": "once" },
    ]));
    let ask = |request: &NormalizedRequest| said(&script, request).unwrap_or_default();
    let mut other = user("a");
    other.session = Some("s".to_owned());
    assert_eq!(ask(&user("a")), "once");
    assert!(said(&script, &user("b")).is_err());
    assert_eq!([ask(&user("a")), ask(&user("a")), ask(&user("a"))], ["second", "later", "later"]);
    assert_eq!([ask(&user("a")), ask(&other)], ["", "once"]);
    script.reset(None);
    assert_eq!(ask(&user("a")), "once");
}

#[test]
fn a_claim_that_is_given_back_counts_nothing() {
    let script =
        rules(json!([{ "when": { "user": "a", "call": 1 }, "times": 1, "answer": "first" }]));
    let RuleLookup::Claimed(claim) = script.claim_rule(&user("a")) else { panic!() };
    script.release_turn(None, &ScriptTurn::Rule(claim.clone()));
    assert_eq!(script.unused_rules(), Vec::<String>::new());
    assert_eq!(said(&script, &user("a")).unwrap(), "first");
    script.release_turn(None, &ScriptTurn::Rule(claim.clone()));
    script.consume_turn(None, &ScriptTurn::Rule(claim));
    assert!(said(&script, &user("a")).is_err());
}

#[test]
fn rules_are_tried_before_the_list_of_calls() {
    let script = json!({ "rules": [{ "when": { "user": "a" }, "answer": "rule" }],
        "scripts": [[{ "text": "list" }]] });
    let script = try_script(&script).unwrap();
    assert_eq!(said(&script, &user("b")).unwrap(), "list");
    assert_eq!(said(&script, &user("a")).unwrap(), "rule");
    assert!(said(&script, &user("b")).unwrap_err().contains("none of the script's 1 rules"));
}

#[test]
fn what_is_wrong_with_a_rule_is_told_with_its_place_and_what_was_expected() {
    refused(json!({ "answr": "a" }), &["rule 1: ", "\"answr\"", "did you mean \"answer\"?"]);
    refused(json!({ "when": {} }), &["rule 1: ", "it answers nothing"]);
    refused(json!({ "answer": [{ "txt": "a" }] }), &["rule 1, entry 1: ", "\"txt\""]);
    refused(json!({ "answer": "a", "error": "b" }), &["rule 1: error: ", "combined with answer"]);
    refused(
        json!({ "when": { "usr": "a" }, "answer": "a" }),
        &["when.usr", "did you mean \"user\"?"],
    );
    refused(
        json!({ "when": { "user": 5 }, "answer": "a" }),
        &["when.user", "contains, equals, regex", "5"],
    );
    let two = json!({ "user": { "contains": "a", "equals": "b" } });
    refused(json!({ "when": two, "answer": "a" }), &["when.user", "one of contains"]);
    let regex = json!({ "user": { "regex": "(" } });
    refused(
        json!({ "when": regex, "answer": "a" }),
        &["when.user.regex", "not a regular expression"],
    );
    let large = json!({ "user": { "regex": "(a{1000}){1000}" } });
    refused(json!({ "when": large, "answer": "a" }), &["when.user.regex", "size limit"]);
    refused(
        json!({ "when": { "provider": "opnai" }, "answer": "a" }),
        &["when/provider", "openai"],
    );
    refused(json!({ "when": { "call": 0 }, "answer": "a" }), &["when.call", "a number from 1"]);
    refused(json!({ "fault": "stream_truncate" }), &["fault: ", "stream_truncate needs an answer"]);
    refused(json!({ "chaos": { "drop": 0.5 } }), &["it answers nothing"]);
    refused(json!({ "answer": "a", "chaos": { "drop": 2 } }), &["chaos/drop"]);
    refused(json!({ "name": "a\nb", "answer": "a" }), &["name", "on one line"]);
    let twice =
        json!({ "rules": [{ "name": "a", "answer": "b" }, { "name": "a", "answer": "c" }] });
    assert!(try_script(&twice).unwrap_err().contains("rules 1 and 2 are both named \"a\""));
    let busy = json!({ "rules": [], "retry_until_call": 2 });
    assert!(try_script(&busy).unwrap_err().contains("expected scripts"));
}

fn fixtures(fixtures: Value) -> Script {
    try_script(&json!({ "fixtures": fixtures })).unwrap()
}

fn fixture(when: Value, text: &str) -> Value {
    json!({ "match": when, "response": { "content": text } })
}

#[test]
fn a_position_in_the_conversation_is_a_preference_as_in_aimock() {
    let talk = |turns: usize| {
        let mut said = vec![json!({ "role": "user", "content": "a" })];
        for _ in 0..turns {
            said.push(json!({ "role": "assistant", "content": "b" }));
            said.push(json!({ "role": "user", "content": "a" }));
        }
        messages(said.into())
    };
    let turn =
        |turn: u64| fixture(json!({ "userMessage": "a", "turnIndex": turn }), &turn.to_string());
    let any = || fixture(json!({ "userMessage": "a" }), "any");
    let ask = |script: &Script, turns| said(script, &talk(turns)).unwrap();
    let script = fixtures(json!([turn(1), turn(3)]));
    assert_eq!([0, 1, 2, 3, 9].map(|turns| ask(&script, turns)), ["1", "1", "1", "3", "3"]);
    let script = fixtures(json!([turn(1), any(), turn(3)]));
    assert_eq!([0, 1, 2, 3, 4].map(|turns| ask(&script, turns)), ["any", "1", "1", "any", "3"]);
}

#[test]
fn fixtures_of_a_sequence_share_one_count_which_is_never_given_back() {
    let one = |index: u64| {
        fixture(json!({ "userMessage": "a", "sequenceIndex": index }), &index.to_string())
    };
    let script = fixtures(json!([one(1), one(0), fixture(json!({ "userMessage": "b" }), "b")]));
    assert_eq!(said(&script, &user("a")).unwrap(), "0");
    let RuleLookup::Claimed(claim) = script.claim_rule(&user("a")) else { panic!() };
    script.release_turn(None, &ScriptTurn::Rule(claim));
    let why = said(&script, &user("a")).unwrap_err();
    assert!(why.contains("rule fixture#1 holds, but not for this call"), "{why}");
    assert_eq!(script.unused_rules(), ["fixture#3"]);
}

#[test]
fn a_fixtures_stream_has_its_pieces_its_times_and_its_end() {
    let mut one = fixture(json!({}), "one two three");
    (one["chunkSize"], one["latency"]) = (json!(4), json!(10));
    let stream = |one: &Value| {
        let script = fixtures(json!([one]));
        let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "a" }] });
        let request = observed("/v1/chat/completions", &body);
        let answered = script.answer(&request, request.call.provider, RuleLookup::Pending).unwrap();
        answered.rendered.delivery
    };
    let whole = stream(&one);
    let text: Vec<String> = whole
        .chunks
        .iter()
        .map(|chunk| String::from_utf8_lossy(&chunk.data).into_owned())
        .collect();
    let pieces = ["\"one \"", "\"two \"", "\"thre\"", "\"e\""];
    for piece in pieces {
        assert!(
            text.iter().any(|event| event.contains(&format!("\"content\":{piece}"))),
            "{text:?}"
        );
    }
    let times: Vec<f64> = whole.chunks.iter().map(|chunk| chunk.at_ms).collect();
    assert_eq!(times[..3], [10.0, 20.0, 30.0]);
    assert_eq!(whole.end, ResponseEnd::Complete);
    one["truncateAfterChunks"] = json!(2);
    let cut = stream(&one);
    assert_eq!(cut.chunks.len(), 2);
    assert!(matches!(cut.end, ResponseEnd::UpstreamAbort(_)));
    (one["truncateAfterChunks"], one["disconnectAfterMs"]) = (Value::Null, json!(35));
    assert_eq!(stream(&one).chunks.len(), 3);
}

#[test]
fn what_of_a_fixture_file_is_not_played_is_named() {
    let script = fixtures(json!([
        { "match": { "endpoint": "image" }, "response": { "image": { "url": "u" } } },
        { "match": { "context": "c" }, "response": { "content": "a" } },
        { "match": { "endpoint": "chat" }, "response": { "content": "a", "reasoning": "r" } },
        { "match": { "inputText": "a" }, "response": { "embedding": [0.5] } },
    ]));
    assert_eq!(script.rule_count(), 2);
    let notes = script.unplayed_notes().join("\n");
    for part in [
        "fixture 1 (its answer is not text (image)",
        "fixture 2 (its context",
        "response.reasoning of fixture 3",
    ] {
        assert!(notes.contains(part), "{part:?} is not in: {notes}");
    }
    let wrong = json!({ "fixtures": [fixture(json!({}), "a"), { "match": {} }] });
    assert!(try_script(&wrong).unwrap_err().starts_with("fixture 2: missing field `response`"));
    let rates = json!({ "fixtures": [{ "match": {}, "response": { "content": "a" }, "chaos": { "dropRate": 7 } }] });
    assert!(try_script(&rates).unwrap_err().starts_with("fixture 1: /chaos/drop"));
}

#[test]
fn a_vector_is_given_to_each_text() {
    let script =
        fixtures(json!([{ "match": { "inputText": "a" }, "response": { "embedding": [0.5, 1] } }]));
    let asked = observed("/v1/embeddings", &json!({ "model": "m", "input": ["a", "b"] }));
    let answered = script.answer(&asked, asked.call.provider, RuleLookup::Pending).unwrap();
    let body: Value = serde_json::from_slice(&answered.rendered.delivery.chunks[0].data).unwrap();
    assert_eq!(body["data"][1]["embedding"], json!([0.5, 1.0]));
}
