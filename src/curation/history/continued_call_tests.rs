//! Which call continues which, and how much work it is to find out.

use serde_json::{Value, json};

use super::*;
use loomrec_recording::{Entry, RecordedRequest};

fn entry(body: &Value) -> Entry {
    let request = RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body: body.to_string().into_bytes().into(),
        ..RecordedRequest::default()
    };
    Entry { request: Some(request), ..Entry::default() }
}

fn history(body: &Value) -> Option<RequestHistory> {
    RequestHistory::of_entry(&entry(body))
}

/// A chat with this system prompt. The messages are those of the user and of the model in turn.
fn chat(system: &str, texts: &[&str]) -> Option<RequestHistory> {
    let mut messages = vec![json!({ "role": "system", "content": system })];
    for (at, text) in texts.iter().enumerate() {
        let role = ["user", "assistant"][at % 2];
        messages.push(json!({ "role": role, "content": text }));
    }
    history(&json!({ "model": "m", "messages": messages }))
}

/// Returns for each call the index of the one that it continues, and its turn.
fn found(histories: &[Option<RequestHistory>]) -> Vec<Option<(usize, usize)>> {
    let all: Vec<_> = histories.iter().map(Option::as_ref).collect();
    let found = continued_calls(&all).into_iter();
    found.map(|call| call.map(|call| (call.earlier, call.turn))).collect()
}

fn earlier(histories: &[Option<RequestHistory>]) -> Vec<Option<usize>> {
    found(histories).into_iter().map(|call| call.map(|(earlier, _)| earlier)).collect()
}

/// The texts of a conversation of so many turns.
fn texts(turns: usize) -> Vec<String> {
    (0..2 * turns - 1).map(|at| format!("text {at}")).collect()
}

fn chats(turns: usize) -> Vec<Option<RequestHistory>> {
    let all = texts(turns);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    (1..=turns).map(|turn| chat("s", &all[..2 * turn - 1])).collect()
}

#[test]
fn each_turn_continues_the_one_before_in_whatever_order_they_are_stored() {
    let mut all = chats(200);
    let expected = |turn: usize| (turn > 1).then(|| (turn - 2, turn));
    assert_eq!(found(&all), (1..=200).map(expected).collect::<Vec<_>>());
    all.reverse();
    let expected = |turn: usize| (turn > 1).then(|| (201 - turn, turn));
    assert_eq!(found(&all), (1..=200).rev().map(expected).collect::<Vec<_>>());
}

#[test]
fn takes_of_one_request_continue_the_same_call() {
    let two = || chat("s", &["a", "b", "c"]);
    let three = chat("s", &["a", "b", "c", "d", "e"]);
    let all = [chat("s", &["a"]), two(), two(), three];
    assert_eq!(earlier(&all), [None, Some(0), Some(0), Some(1)]);
}

#[test]
fn branches_continue_the_call_at_which_they_part() {
    let all = [
        chat("s", &["a"]),
        chat("s", &["a", "b", "c"]),
        chat("s", &["a", "b", "x"]),
        chat("s", &["a", "b", "c", "d", "e"]),
        chat("s", &["a", "b", "x", "y", "z"]),
    ];
    assert_eq!(earlier(&all), [None, Some(0), Some(0), Some(1), Some(2)]);
}

#[test]
fn agents_are_told_apart_by_their_first_message_or_their_prompt() {
    let all = [
        chat("s", &["task one"]),
        chat("s", &["task two"]),
        chat("s", &["task one", "ok", "go on"]),
        chat("s", &["task two", "ok", "go on"]),
        chat("critic", &["task one"]),
        chat("critic", &["task one", "ok", "go on"]),
    ];
    assert_eq!(earlier(&all), [None, None, Some(0), Some(1), None, Some(4)]);
}

#[test]
fn system_prompt_may_change_in_each_call() {
    let all: Vec<_> = (1..=50)
        .map(|turn| {
            let all = texts(turn);
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            chat(&format!("It is {turn} o'clock."), &all)
        })
        .collect();
    let expected: Vec<_> = (0..50).map(|at: usize| at.checked_sub(1)).collect();
    assert_eq!(earlier(&all), expected);
}

#[test]
fn changed_history_continues_the_call_that_it_repeats_most_of() {
    let long: Vec<String> = texts(30);
    let mut long: Vec<&str> = long.iter().map(String::as_str).collect();
    let mut all: Vec<_> = (1..=30).map(|turn| chat("s", &long[..2 * turn - 1])).collect();
    // A message of the second turn is edited.
    long[2] = "edited";
    long.extend(["more", "and more"]);
    all.push(chat("s", &long));
    // The oldest ones are left out.
    long.drain(..2);
    long.extend(["still more", "and more"]);
    all.push(chat("s", &long));
    // All are replaced by a summary, from which the conversation goes on.
    all.push(chat("s", &["summary"]));
    all.push(chat("s", &["summary", "x", "y"]));
    let earlier = earlier(&all);
    assert_eq!(earlier[29..], [Some(28), Some(29), Some(30), None, Some(32)]);
}

#[test]
fn call_that_is_no_conversation_continues_none() {
    let texts = json!({ "model": "m", "input": ["a", "b"] });
    let prompt = json!({ "model": "m", "prompt": "a" });
    let all = [history(&texts), history(&texts), history(&prompt), chat("s", &["a"])];
    assert_eq!(earlier(&all), [None; 4]);
    assert!(all[..3].iter().all(Option::is_none));
    assert_eq!(earlier(&[]), []);
}

#[test]
fn sessions_and_upstreams_have_conversations_of_their_own() {
    let call = |session: &str, upstream: &str, texts: usize| {
        let item = |at: usize| json!({ "role": "user", "content": at.to_string() });
        let messages: Vec<Value> = (0..texts).map(item).collect();
        let (session, upstream) = (Some(session.to_owned()), Some(upstream.to_owned()));
        let body = json!({ "model": "m", "messages": messages });
        RequestHistory::of_entry(&Entry { session, upstream, ..entry(&body) })
    };
    let all = [
        call("a", "x", 1),
        call("b", "x", 1),
        call("a", "y", 1),
        call("a", "x", 3),
        call("b", "x", 3),
        call("a", "y", 3),
    ];
    assert_eq!(earlier(&all), [None, None, None, Some(0), Some(1), Some(2)]);
}

/// A call of Responses that continues the answer with an id.
fn stored(body: Value, answer: &str) -> Option<RequestHistory> {
    let mut history = history(&body)?;
    history.answer_id = Some(answer.to_owned());
    Some(history)
}

#[test]
fn history_that_the_provider_holds_is_found_by_its_id() {
    let all = [
        stored(json!({ "input": "a" }), "r1"),
        stored(json!({ "input": "go on", "previous_response_id": "r1" }), "r2"),
        stored(json!({ "input": "go on", "previous_response_id": "r2" }), "r3"),
        stored(json!({ "input": "go on", "previous_response_id": "unknown" }), "r4"),
        stored(json!({ "input": "a", "conversation": "c" }), "r5"),
        stored(json!({ "input": "b", "conversation": { "id": "c" } }), "r6"),
    ];
    assert_eq!(found(&all), [None, Some((0, 2)), Some((1, 3)), None, None, Some((4, 2))]);
    let calls: Vec<_> = all.iter().map(Option::as_ref).collect();
    assert!(continued_calls(&calls)[2].is_some_and(|call| call.is_stored));
}

#[test]
fn ids_that_form_a_circle_end() {
    let all = [
        stored(json!({ "input": "a", "previous_response_id": "r2" }), "r1"),
        stored(json!({ "input": "b", "previous_response_id": "r1" }), "r2"),
        stored(json!({ "input": "c", "previous_response_id": "r3" }), "r3"),
    ];
    assert_eq!(found(&all), [Some((1, 2)), None, None]);
}

#[test]
fn work_grows_with_the_size_of_the_recording() {
    let work = |histories: &[Option<RequestHistory>]| {
        let all: Vec<_> = histories.iter().map(Option::as_ref).collect();
        let blocks: usize = all.iter().flatten().map(|history| history.blocks.len()).sum();
        let (_, looked_at) = find_continued(&all);
        looked_at as f64 / blocks as f64
    };
    // Many calls that begin or end alike, next to one long conversation.
    let mut alike = chats(200);
    for at in 0..2000 {
        let first = format!("question {at}");
        alike.push(chat("s", &["text 0", "text 1", &first]));
        alike.push(chat("s", &[&first, "text 1", "text 0"]));
    }
    for histories in [&chats(50), &chats(400), &alike] {
        let each = work(histories);
        assert!(each < 40.0, "{each} looks at each block");
    }
}
