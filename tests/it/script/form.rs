//! Tests of the forms of scripts that are ALLM's: its error reasons, its lists of calls, its words.

use serde_json::{Value, json};

use super::{Scripted, content_of};
use crate::support::shape::{chat, chat_streamed, message, message_streamed};
use crate::support::{Call, End, Server};

/// A Gemini call.
fn gemini(streamed: bool) -> Call {
    let verb = if streamed { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let target = format!("/gemini/v1beta/models/gemini-2.0-flash:{verb}");
    Call::post(&target, json!({"contents": [{"parts": [{"text": "x"}]}]}).to_string())
}

fn health(server: &Server, query: &str) -> Value {
    let call = Call::get(&format!("/__loomrec/health{query}")).header("host: localhost");
    server.call(&call).expect(200).json()
}

#[test]
fn a_reason_fails_a_call_as_each_provider_would() {
    let fails = json!([{"error": {"reason": "rate_limited", "retry_after_ms": 2000}}]);
    let scripted = Scripted::of(&Value::from(vec![fails; 6]));
    let server = scripted.start(&[]);
    for call in [chat("x"), chat_streamed("x")] {
        let answer = server.call(&call).expect(429);
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    }
    for call in [message("x"), message_streamed("x")] {
        let answer = server.call(&call).expect(429);
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
    }
    for streamed in [false, true] {
        let error = server.call(&gemini(streamed)).expect(429).json();
        let error = error.get("error").or_else(|| error[0].get("error")).unwrap();
        assert_eq!(error["status"], "RESOURCE_EXHAUSTED");
    }
    server.stop().expect(0).says(&["6 scripted", "0 of 6 script calls left"]);
}

#[test]
fn a_stream_goes_on_behind_its_error_and_ends_as_usual() {
    let on = json!([{"error_event": "overloaded"}, {"text": "still here"}, {"finish": "stop"},
        {"text": "dropped"}]);
    let scripted = Scripted::of(&Value::from(vec![on; 4]));
    let server = scripted.start(&[]);
    let ends = [
        (chat_streamed("x"), "overloaded", "[DONE]"),
        (message_streamed("x"), "overloaded_error", "message_stop"),
        (gemini(true), "UNAVAILABLE", "\"finishReason\":\"STOP\""),
    ];
    for (call, error, end) in ends {
        let text = server.call(&call).expect(200).text();
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(at(error) < at("still here") && at("still here") <= at(end), "{text}");
        assert!(!text.contains("dropped"), "{text}");
    }
    server.call(&chat("x")).expect(503);
    server.stop().expect(0);
}

#[test]
fn a_failure_of_the_network_closes_the_connection_in_place_of_an_answer_or_within_one() {
    let scripted = Scripted::of(&json!([
        [{"error": "network_error"}],
        [{"preflight_error": "network_error"}],
        [{"text": "begun"}, {"stream_error": "cancelled"}],
        [{"text": "begun"}, {"error_event": "network_error"}]
    ]));
    let server = scripted.start(&["--journal", "journal.jsonl"]);
    for call in [chat("x"), message_streamed("x")] {
        let mut client = server.connect();
        client.send(&call);
        assert_eq!(client.silence(), End::Reset);
    }
    for (call, end) in [(chat_streamed("x"), End::Closed), (message_streamed("x"), End::Reset)] {
        let mut client = server.connect();
        client.send(&call);
        let answer = client.answer().expect("a stream that begins");
        assert_eq!((answer.status, answer.end), (200, end));
        assert!(answer.text().contains("begun"), "{}", answer.text());
    }
    server.stop().expect(0).says(&["4 scripted", "script streams: 2 drained, 0 left"]);
    let journal = std::fs::read_to_string(scripted.scene.path("journal.jsonl")).unwrap();
    let first: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    assert_eq!((&first["outcome"], &first["status"]), (&json!("scripted"), &Value::Null));
}

#[test]
fn a_client_that_is_kept_waiting_gives_up_by_itself() {
    let scripted = Scripted::of(&json!([[{"text": "begun"}, {"stream_error": "timeout"}]]));
    let server = scripted.start(&[]);
    let mut client = server.connect();
    client.send(&chat_streamed("x"));
    client.head();
    client.until("begun");
    assert!(client.is_quiet_for(std::time::Duration::from_millis(100)));
    drop(client);
    server.stop().expect(0);
}

#[test]
fn streams_have_their_own_calls_and_each_session_its_own_place() {
    let scripted = Scripted::of(&json!({
        "script": [{"ok": {"output_text": "whole", "request_id": "req_own"}}],
        "stream_script": [
            [{"text_delta": "first"}, {"finish": "stop"}],
            [{"text_delta": "second"}]
        ],
        "usage": {"input_tokens": 7, "output_tokens": 2},
    }));
    let server = scripted.start(&[]);
    let own = |call: Call| call.header("x-loomrec-session: a");
    let stream = server.call(&message_streamed("x")).expect(200);
    assert_eq!(stream.header("x-loomrec-entry"), Some("script#2"));
    assert!(stream.text().contains("first"), "{}", stream.text());
    let whole = server.call(&own(chat("x"))).expect(200);
    assert_eq!(whole.header("x-request-id"), Some("req_own"));
    assert_eq!(whole.header("x-loomrec-entry"), Some("script#1"));
    let body = whole.json();
    assert_eq!((content_of(&body), &body["usage"]["total_tokens"]), (&json!("whole"), &json!(9)));
    server.call(&own(chat("x"))).expect(422);
    assert!(server.call(&message_streamed("x")).expect(200).text().contains("second"));
    let cursor = |session: Value, made: u64, index: u64, streams: u64| json!({"session": session, "made": made, "index": index, "stream_index": streams});
    let script = health(&server, "")["script"].clone();
    let cursors = [cursor(Value::Null, 2, 0, 2), cursor(json!("a"), 2, 1, 0)];
    let whole = json!({"calls": 3, "left": 0, "cursors": cursors, "left_out": 0});
    assert_eq!(script, whole);
    let one = health(&server, "?session=a")["script"]["cursors"].clone();
    assert_eq!(one, json!([cursor(json!("a"), 2, 1, 0)]));
    assert_eq!(health(&server, "?session=b")["script"]["cursors"], json!([]));
    server.stop().expect(1).says(&["0 of 3 script calls left"]);
}

#[test]
fn a_script_for_streams_alone_has_no_complete_answer() {
    let scripted = Scripted::of(&json!({"stream_script": [{"text": "a"}, {"finish": "stop"}]}));
    let server = scripted.start(&[]);
    let refused = server.call(&chat("x")).expect(422);
    assert_eq!(refused.header("x-loomrec-error"), Some("no_scripted_response"));
    assert!(refused.text().contains("stream_script"), "{}", refused.text());
    server.call(&chat_streamed("x")).expect(200);
    server.stop().expect(1);
}

#[test]
fn the_documents_script_in_allms_words_answers_as_it_says_it_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scripts.md");
    let text = std::fs::read_to_string(path).unwrap();
    let allm = text.split("## From ALLM").nth(1).expect("a section");
    let block = allm.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let scripted = Scripted::new("script.json", block.expect("an example"));
    let server = scripted.start(&[]);
    assert_eq!(content_of(&server.call(&chat("x")).expect(200).json()), "Hello world");
    let answer = server.call(&message("x")).expect(429);
    assert_eq!(answer.header("retry-after"), Some("1"));
    let text = server.call(&message_streamed("x")).expect(200).text();
    assert!(text.contains("hel") && text.contains("overloaded_error"), "{text}");
    server.stop().expect(0).says(&["0 of 3 script calls left"]);
}
