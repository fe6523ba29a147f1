use std::ops::ControlFlow;

use super::super::super::exchange::TextAnswer;
use super::super::super::{ForeignFormat, read as find};
use super::*;

fn found(text: &str) -> (Vec<FoundItem>, Option<String>) {
    let mut items = Vec::new();
    let done = find(ForeignFormat::Aimock, &mut text.as_bytes(), &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done.err().map(|error| error.to_string()))
}

fn only(fixture: &Value) -> Result<TextExchange, String> {
    let (mut items, problem) = found(&json!({ "fixtures": [fixture] }).to_string());
    assert_eq!(problem, None);
    match items.remove(0) {
        FoundItem::Words(words) => Ok(*words),
        FoundItem::Left(left) => Err(left.reason),
        other => panic!("{other:?}"),
    }
}

fn recorded() -> Value {
    json!({
        "match": { "userMessage": "hi", "model": "gpt-4o-mini", "turnIndex": 0, "hasToolResult": false },
        "response": { "content": "Hello.", "usage": { "input_tokens": 3, "output_tokens": 2 } },
        "recordedTimings": { "ttftMs": 1, "interChunkDelaysMs": [], "totalDurationMs": 12.5 },
    })
}

#[test]
fn recorded_fixture_of_one_message_is_a_call() {
    let words = only(&recorded()).unwrap();
    let body = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(words.request.body, body);
    assert_eq!(words.duration_ms, Some(12.5));
    let TextAnswer::Answer(answer) = words.said else { panic!("{words:?}") };
    assert_eq!((answer.content.as_str(), answer.usage.unwrap().total_tokens), ("Hello.", 5));
    let mut error = recorded();
    error["response"] = json!({ "error": { "message": "no", "type": "t" }, "status": 429 });
    let TextAnswer::Error { status, kind, .. } = only(&error).unwrap().said else { panic!() };
    assert_eq!((status, kind.as_deref()), (429, Some("t")));
}

#[test]
fn rates_of_chaos_come_over_as_those_of_the_entry() {
    let mut fixture = recorded();
    fixture["chaos"] = json!({ "dropRate": 0.25, "latencyMs": 40 });
    let words = only(&fixture).unwrap();
    let ours = json!({ "drop": 0.25, "latencyMs": 40 });
    assert_eq!(words.chaos.as_ref().unwrap().to_json(), ours);
    assert_eq!(words.lost.iter().filter(|lost| lost.contains("faults")).count(), 0);
    fixture["response"] = json!({ "error": { "message": "no" }, "status": 500 });
    assert_eq!(only(&fixture).unwrap().chaos, words.chaos);
}

#[test]
fn fixture_that_keeps_less_than_its_request_is_left_out() {
    let changed = |place: &str, value: Value| {
        let mut fixture = recorded();
        match place.split_once('/') {
            Some((outer, inner)) => fixture[outer][inner] = value,
            None => fixture[place] = value,
        }
        only(&fixture).unwrap_err()
    };
    assert!(changed("metadata", json!({ "systemHash": "a" })).contains("had more to it"));
    assert!(changed("match/turnIndex", json!(1)).contains("had more to it"));
    assert!(changed("match/toolName", json!("x")).contains("had more to it"));
    assert!(changed("match/turnIndex", Value::Null).contains("it is a rule"));
    assert!(changed("match/model", json!("claude-x")).contains("--requests"));
    assert!(changed("response", json!({ "image": {} })).contains("not text (image)"));
}

#[test]
fn bad_file_is_told_by_what_is_wrong_and_where() {
    let told = |text: &str| found(text).1.unwrap();
    assert!(told("{}").contains("missing field `fixtures`"));
    assert!(told("[]").contains("an object with `fixtures`"));
    assert!(told("{\"fixtures\": [], \"fixtures\": []}").contains("twice"));
    let two = json!({ "fixtures": [recorded(), { "match": 7 }] }).to_string();
    let wrong = told(&two);
    assert!(wrong.contains("after fixture 1: missing field `match`"), "{wrong}");
    assert!(told(&two[..two.len() - 5]).contains("after fixture 1: "));
    let text = json!({ "fixtures": [{ "match": { "turnIndex": "x" }, "response": {} }] });
    assert!(told(&text.to_string()).contains("`match.turnIndex`"));
    let deep = format!("{{\"fixtures\": [{}", "[".repeat(100_000));
    assert!(told(&deep).contains("recursion limit"));
}
