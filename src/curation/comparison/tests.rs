//! Which differences between two calls are reported, and which are not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use loomrec_recording::format;
use loomrec_recording::{Entry, EntryName, RecordingDocument};

/// Returns a chat call and its answer, as in a file.
fn chat(prompt: &str, answer: &str) -> Value {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": prompt}]});
    json!({
        "content": answer, "model": "m-1", "cost_usd": 0.5, "latency_ms": 7.5,
        "finish_reason": "stop", "upstream": "openai",
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        "request": {"method": "POST", "path": "/v1/chat/completions",
                    "headers": {"content-type": "application/json"}, "body": body},
        "response": {"status": 200, "headers": {"content-type": "application/json"},
                     "end": "complete", "body": {"id": "a1", "choices": [{"index": 0,
                       "message": {"role": "assistant", "content": answer}}]}},
    })
}

/// Returns the entry with one value changed.
fn with(mut entry: Value, pointer: &str, value: Value) -> Value {
    *entry.pointer_mut(pointer).expect("a place") = value;
    entry
}

fn read(name: &str, entry: &Value) -> (EntryName, Entry) {
    let text = json!({ "_version": 2, name: entry }).to_string();
    let cassette: RecordingDocument = format::parse(text.as_bytes()).unwrap();
    let (name, _, entry) = cassette.entries().next().unwrap();
    (name.clone(), entry.clone())
}

fn found(old: &Value, new: &Value, scope: &DiffScope) -> Vec<CallDifference> {
    let ((one, old), (other, new)) = (read("plan", old), read("plan", new));
    call_differences(
        &ComparedSide::from_entry(&one, &old),
        &ComparedSide::from_entry(&other, &new),
        scope,
    )
}

/// Returns differences as `place: old -> new`, in brackets if they do not count.
fn told(old: &Value, new: &Value, scope: &DiffScope) -> Vec<String> {
    let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
    let line = |difference: CallDifference| {
        let (old, new) = (text(&difference.old), text(&difference.new));
        let line = format!("{}: {old} -> {new}", difference.place);
        if difference.counts { line } else { format!("({line})") }
    };
    found(old, new, scope).into_iter().map(line).collect()
}

fn between(old: &Value, new: &Value) -> Vec<String> {
    told(old, new, &DiffScope::default())
}

#[test]
fn requests_and_answers_are_told_by_place() {
    let old = chat("hi", "one");
    let new = with(chat("ho", "two"), "/finish_reason", json!("length"));
    let new = with(new, "/usage/completion_tokens", json!(9));
    assert_eq!(
        between(&old, &new),
        [
            "/messages/0/content: \"hi\" -> \"ho\"",
            "answer/text: \"one\" -> \"two\"",
            "answer/finish_reason: \"stop\" -> \"length\"",
            "answer/usage/completion_tokens: 2 -> 9",
        ]
    );
}

#[test]
fn scope_holds_one_half_alone_or_leaves_places_out() {
    let (old, new) = (chat("hi", "one"), chat("ho", "two"));
    let mut scope = DiffScope::default();
    scope.leave_out("answer").unwrap();
    assert_eq!(told(&old, &new, &scope), ["/messages/0/content: \"hi\" -> \"ho\""]);
    scope = DiffScope::default();
    scope.leave_out("request").unwrap();
    assert_eq!(told(&old, &new, &scope), ["answer/text: \"one\" -> \"two\""]);
    scope.leave_out("answer/text").unwrap();
    assert_eq!(told(&old, &new, &scope), [""; 0]);
    scope = DiffScope::default();
    scope.leave_out("/messages/0").unwrap();
    scope.leave_out("answer").unwrap();
    assert_eq!(told(&old, &new, &scope), [""; 0]);
    scope = DiffScope::default();
    scope.leave_out("answer/tex").unwrap();
    assert_eq!(told(&old, &new, &scope).len(), 2);
}

#[test]
fn place_is_refused_when_it_is_none() {
    let mut scope = DiffScope::default();
    let refused =
        |scope: &mut DiffScope, place: &str| scope.leave_out(place).unwrap_err().to_string();
    assert!(refused(&mut scope, "anser/text").contains("did you mean answer?"));
    assert!(refused(&mut scope, "").contains("whole body"));
    assert!(refused(&mut scope, "/a~2").contains("~0"));
    for place in ["header anthropic-beta", "response/headers", "step_id", "/a/b"] {
        assert_eq!(scope.leave_out(place), Ok(()));
    }
}

#[test]
fn times_and_chunks_are_shown_and_do_not_count() {
    let streamed = |chunks: Value| {
        let answer = json!({"status": 200, "headers": {"content-type": "text/event-stream"},
                            "end": "complete", "chunks": chunks});
        with(chat("hi", "one"), "/response", answer)
    };
    let old = streamed(json!([[1.5, "data: a\n\n"], [2.0, "data: b\n\n"]]));
    let new = with(streamed(json!([[1.0, "data: a\n\ndata: b\n\n"]])), "/latency_ms", json!(9.0));
    assert_eq!(
        between(&old, &new),
        [
            "(response/chunks: 2 -> 1)",
            "(response/first_chunk_ms: 1.5 -> 1.0)",
            "(answer/latency_ms: 7.5 -> 9.0)",
        ]
    );
    let cut = with(new, "/response/end", json!("upstream_abort"));
    assert!(between(&old, &cut)[0].starts_with("response/end: \"complete\" -> \"upstream_abort"));
}

#[test]
fn leaving_of_a_client_counts_and_its_exact_place_does_not() {
    let whole = chat("hi", "one");
    let left = |bytes: Value| {
        let mut entry = whole.clone();
        entry["client_left"] = json!({"ms": 1.5, "bytes": bytes});
        entry
    };
    assert_eq!(
        between(&whole, &left(json!(7))),
        ["response/client_left: - -> \"within the answer\""]
    );
    assert_eq!(
        between(&left(json!(7)), &left(json!(0))),
        ["response/client_left: \"within the answer\" -> \"before the answer\""]
    );
    assert_eq!(between(&left(json!(7)), &left(json!(8))), [""; 0]);
}

#[test]
fn ids_and_dates_made_up_anew_are_not_compared() {
    let old = chat("hi", "one");
    let new = with(old.clone(), "/response/body/id", json!("b2"));
    let new =
        with(new, "/response/headers", json!({"content-type": "application/json", "date": "x"}));
    assert_eq!(between(&old, &new), [""; 0]);
}

#[test]
fn what_an_answer_says_beside_its_first_choice_is_compared_too() {
    let second = |text: &str| {
        let choices = json!([{"index": 0, "message": {"content": "one"}},
                             {"index": 1, "message": {"content": text}}]);
        with(chat("hi", "one"), "/response/body/choices", choices)
    };
    assert_eq!(
        between(&second("a"), &second("b")),
        ["response/body/choices/1/message/content: \"a\" -> \"b\""]
    );
}

#[test]
fn stream_that_cannot_be_put_together_is_compared_by_what_it_says() {
    let cut = |id: &str, word: &str, content: &str| {
        let event = json!({"id": id, "choices": [{"index": 0, "delta": {"content": word}}]});
        let mut entry = chat("hi", content);
        entry["response"] = json!({"status": 200, "headers": {"content-type": "text/event-stream"},
            "end": "upstream_abort", "cut": "close", "chunks": [[1.0, format!("data: {event}\n\n")]]});
        entry
    };
    // Both have the same summary. How it was split into events does not matter.
    let told = between(&cut("a", "on", "one"), &cut("b", "one", "one"));
    assert!(told.iter().all(|line| line.starts_with('(')), "{told:#?}");
    let bare = |id: &str, word: &str| {
        let mut entry = cut(id, word, "");
        for name in ["usage", "finish_reason"] {
            entry.as_object_mut().unwrap().remove(name);
        }
        entry
    };
    assert_eq!(between(&bare("a", "x"), &bare("b", "x")), [""; 0]);
    assert_eq!(
        between(&bare("a", "x"), &bare("b", "y")),
        ["response/body/0/choices/0/delta/content: \"x\" -> \"y\""]
    );
}

#[test]
fn body_is_compared_when_nothing_tells_what_it_says() {
    let failed = |body: Value| {
        let answer = json!({"status": 429, "headers": {"content-type": "application/json",
                            "retry-after": "3"}, "end": "complete", "body": body});
        json!({"content": "", "upstream": "openai", "request": chat("hi", "")["request"],
               "response": answer})
    };
    let (old, new) = (failed(json!({"error": {"code": 1}})), failed(json!({"error": {"code": 2}})));
    assert!(between(&old, &new).contains(&"response/body/error/code: 1 -> 2".to_owned()));
    let told = between(&chat("hi", "one"), &old);
    for line in [
        "answer/text: \"one\" -> -",
        "response/status: 200 -> 429",
        "response/headers/retry-after: - -> \"3\"",
    ] {
        assert!(told.contains(&line.to_owned()), "{line} not in {told:#?}");
    }
    assert!(told.iter().any(|line| line.contains("response/body: - -> {\"error\"")), "{told:#?}");
}

#[test]
fn tool_calls_are_told_by_name_and_argument_whatever_their_ids() {
    let calls = |calls: Value| {
        let mut entry = chat("hi", "");
        entry["tool_calls"] = calls;
        entry
    };
    let call = |id: &str, name: &str, city: &str| json!({"id": id, "name": name, "arguments": {"city": city}});
    let old = calls(json!([call("1", "a", "Rome"), call("2", "b", "Oslo")]));
    assert_eq!(
        between(&old, &calls(json!([call("8", "a", "Rome"), call("9", "b", "Oslo")]))),
        [""; 0]
    );
    let new =
        calls(json!([call("8", "new", "Bern"), call("1", "a", "Rome"), call("2", "b", "Ulm")]));
    assert_eq!(
        between(&old, &new),
        [
            "answer/tool_calls/0: - -> {\"name\":\"new\",\"arguments\":{\"city\":\"Bern\"}}",
            "answer/tool_calls/2/arguments/city: \"Oslo\" -> \"Ulm\"",
        ]
    );
}

#[test]
fn plain_entry_is_compared_by_its_words_alone() {
    let plain = json!({"content": "one", "model": "m-1", "finish_reason": "stop", "cost_usd": 0.5,
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}});
    let told = between(&chat("hi", "one"), &plain);
    assert!(told.iter().all(|line| line.starts_with('(')), "{told:#?}");
    assert!(
        between(&chat("hi", "two"), &plain).contains(&"answer/text: \"two\" -> \"one\"".into())
    );
}

#[test]
fn vectors_are_told_by_shape_and_distance() {
    let vectors = |rows: Value| json!({"embeddings": rows});
    let old = vectors(json!([[1.0, 2.0]]));
    assert_eq!(between(&old, &vectors(json!([[1.0, 2.0]]))), [""; 0]);
    let told = between(&old, &vectors(json!([[1.0, 2.5]])));
    assert!(told[0].ends_with("up to 5e-1 apart\""), "{told:?}");
    assert!(
        between(&old, &vectors(json!([[1.0], [2.0]])))[0].ends_with("\"2 vectors of 1 numbers\"")
    );
}

#[test]
fn faults_and_unknown_fields_are_compared() {
    let mut old = chat("hi", "one");
    old["fault"] = json!({"type": "timeout", "after_ms": 1});
    old["note"] = json!("x");
    let new = with(old.clone(), "/fault/after_ms", json!(2));
    let new = with(new, "/note", json!("y"));
    assert_eq!(between(&old, &new), ["fault/after_ms: 1 -> 2", "extra/note: \"x\" -> \"y\""]);
}

#[test]
fn deep_and_odd_requests_are_compared_without_harm() {
    let body = |text: String| {
        let mut entry = chat("hi", "one");
        entry["request"] = json!({"method": "POST", "path": "/x", "headers": {}, "text": text});
        entry
    };
    let deep = |depth: usize, end: &str| body("[".repeat(depth) + end + &"]".repeat(depth));
    for (old, new) in [
        (deep(300, "1"), deep(300, "2")),
        (deep(90_000, "1"), deep(90_000, "2")),
        (deep(300, ""), body("[1".to_owned())),
        (body("{\"a\":1,\"a\":2}".to_owned()), body("\u{1b}".to_owned())),
    ] {
        assert!(
            found(&old, &new, &DiffScope::default()).iter().any(|difference| difference.counts)
        );
    }
}

proptest! {
    #[test]
    fn call_does_not_differ_from_itself(prompt in ".*", answer in ".*") {
        let call = chat(&prompt, &answer);
        prop_assert_eq!(between(&call, &call), [""; 0]);
    }

    #[test]
    fn another_prompt_or_answer_always_counts(one in ".*", other in ".*") {
        prop_assume!(one != other);
        for (old, new) in [
            (chat(&one, "x"), chat(&other, "x")),
            (chat("x", &one), chat("x", &other)),
        ] {
            let found = found(&old, &new, &DiffScope::default());
            prop_assert!(found.iter().any(|difference| difference.counts));
        }
    }
}
