//! The forms of entries and scripts that are ALLM's.

use http::StatusCode;

use super::*;
use crate::{RuleLookup, ScriptTurn};
use loomrec_recording::entry::{RecordedCut, ResponseEnd};

/// Returns the response to the only call of a script.
fn only(entries: &str, observed: &NormalizedRequest) -> RenderedResponse {
    answer(&script(&format!("[[{entries}]]")), observed).rendered
}

fn told(rendered: &RenderedResponse) -> String {
    let chunks = &rendered.delivery.chunks;
    String::from_utf8(chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect()).unwrap()
}

fn gemini(streamed: bool, query: &str) -> NormalizedRequest {
    let verb = if streamed { "streamGenerateContent" } else { "generateContent" };
    observed(&format!("/v1beta/models/g:{verb}?{query}"), &json!({}))
}

#[test]
fn a_reason_has_its_status_and_the_providers_own_word_for_it() {
    let fails = |reason: &str, observed: &NormalizedRequest, pointer: &str| {
        let rendered = only(&format!(r#"{{"error": "{reason}"}}"#), observed);
        let body: Value = serde_json::from_str(&told(&rendered)).unwrap();
        let word = body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        (rendered.delivery.status.as_u16(), word)
    };
    for (reason, status, openai, anthropic, google) in [
        ("rate_limited", 429, "requests", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        (
            "authentication_failed",
            401,
            "invalid_request_error",
            "authentication_error",
            "UNAUTHENTICATED",
        ),
        ("unauthorized", 401, "invalid_request_error", "authentication_error", "UNAUTHENTICATED"),
        (
            "invalid_request",
            400,
            "invalid_request_error",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        ("provider_unavailable", 503, "server_error", "api_error", "UNAVAILABLE"),
        ("content_filter", 400, "content_filter", "invalid_request_error", "INVALID_ARGUMENT"),
        ("timeout", 504, "server_error", "timeout_error", "DEADLINE_EXCEEDED"),
        (
            "unsupported_feature",
            400,
            "invalid_request_error",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        ("unknown", 500, "server_error", "api_error", "INTERNAL"),
    ] {
        let word = |word: &str| (status, word.to_owned());
        assert_eq!(fails(reason, &chat(false), "/error/type"), word(openai), "{reason}");
        assert_eq!(fails(reason, &message(true), "/error/type"), word(anthropic), "{reason}");
        assert_eq!(fails(reason, &gemini(false, ""), "/error/status"), word(google), "{reason}");
    }
    assert_eq!(fails("overloaded", &message(false), "/error/type").0, 529);
    assert_eq!(fails("overloaded", &chat(false), "/error/type").0, 503);
    let long = "context_length_exceeded";
    assert_eq!(fails(long, &chat(false), "/error/code"), (400, long.to_owned()));
    let words = fails(long, &message(false), "/error/message").1;
    assert!(words.contains("prompt is too long"), "{words}");
    assert_eq!(fails("out of luck", &chat(false), "/error/message"), (500, "out of luck".into()));
}

#[test]
fn what_is_said_of_an_error_goes_before_what_its_reason_implies() {
    let error = r#"{"error": {"reason": "rate_limited", "status": 503, "type": "tokens",
        "message": "slow", "retry_after_ms": 1500, "request_id": "req_abc"}}"#;
    let delivery = only(error, &chat(false)).delivery;
    assert_eq!(delivery.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(delivery.headers["x-request-id"], "req_abc");
    assert_eq!(delivery.headers["retry-after"], "2");
    let preflight = r#"{"preflight_error": {"reason": "rate_limited", "request_id": "req_abc"}}"#;
    let rendered = only(preflight, &message(true));
    assert_eq!(rendered.delivery.status.as_u16(), 429);
    assert_eq!(rendered.delivery.headers["request-id"], "req_abc");
    let body: Value = serde_json::from_str(&told(&rendered)).unwrap();
    assert_eq!(body["request_id"], "req_abc");
}

#[test]
fn an_error_event_comes_in_the_stream_though_nothing_was_said_before() {
    let event = r#"{"error_event": "rate_limited"}"#;
    let rendered = only(event, &message(true));
    assert_eq!((rendered.delivery.status.as_u16(), rendered.streamed), (200, true));
    let text = told(&rendered);
    assert!(
        text.starts_with("event: error\ndata: ") && text.contains("rate_limit_error"),
        "{text}"
    );
    assert_eq!(only(event, &message(false)).delivery.status.as_u16(), 429);
}

#[test]
fn a_stream_goes_on_behind_an_error_where_entries_follow() {
    let on = r#"{"text": "One"}, {"error": "overloaded"}, {"delay": 5}, {"text": "two"},
        {"finish": "stop"}, {"text": "dropped"}"#;
    let places = |text: &str, words: &[&str]| {
        let at = |word: &&str| text.find(*word).unwrap_or_else(|| panic!("{word}: {text}"));
        let places: Vec<_> = words.iter().map(at).collect();
        assert!(places.is_sorted(), "{places:?}: {text}");
        assert!(!text.contains("dropped"), "{text}");
    };
    places(&told(&only(on, &chat(true))), &["One", "overloaded", "two", "\"stop\"", "[DONE]"]);
    let text = told(&only(on, &message(true)));
    places(&text, &["message_start", "One", "overloaded_error", "two", "message_stop"]);
    for query in ["alt=sse", ""] {
        let text = told(&only(on, &gemini(true, query)));
        places(&text, &["One", "\"code\":503", "two", "STOP"]);
    }
    let array = told(&only(on, &gemini(true, "")));
    assert!(serde_json::from_str::<Value>(&array).is_ok(), "{array}");
    assert_eq!(only(on, &chat(false)).delivery.status.as_u16(), 503);
}

#[test]
fn the_regular_end_comes_behind_an_error_if_a_finish_does() {
    let ends = r#"{"text": "One"}, {"error": "overloaded"}, {"finish": "stop"}"#;
    let text = told(&only(ends, &gemini(true, "alt=sse")));
    assert!(text.find("overloaded") < text.find("finishReason"), "{text}");
    assert_eq!(text.matches("finishReason").count(), 1, "{text}");
    let text = told(&only(ends, &chat(true)));
    assert!(text.find("overloaded") < text.find("\"stop\""), "{text}");
    let fails = r#"{"text": "One"}, {"error": "overloaded"}, {"delay": 1}"#;
    assert!(!told(&only(fails, &chat(true))).contains("[DONE]"));
    // What Bedrock sends as an exception is the last message of its stream.
    let bedrock = observed("/model/m/converse-stream", &json!({"messages": []}));
    let bytes = body(&answer(&script(&format!("[[{ends}]]")), &bedrock));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("serviceUnavailableException"), "{text}");
    assert!(!text.contains("messageStop"), "{text}");
}

#[test]
fn events_are_numbered_through_an_error_between_them() {
    let responses = observed("/v1/responses", &json!({"model": "m", "input": "a", "stream": true}));
    let on = r#"{"text": "One"}, {"error": "overloaded"}, {"text": "two"}"#;
    let text = told(&only(on, &responses));
    let numbers = text.lines().filter_map(|line| {
        let data: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
        data["sequence_number"].as_u64()
    });
    let numbers: Vec<u64> = numbers.collect();
    assert!(numbers.len() > 8, "{text}");
    assert!(
        numbers.iter().copied().eq(numbers[0]..numbers[0] + numbers.len() as u64),
        "{numbers:?}"
    );
}

#[test]
fn a_failure_of_the_network_is_no_answer_and_one_in_a_stream_cuts_it() {
    for observed in [chat(false), chat(true)] {
        let rendered = only(r#"{"delay": 5}, {"error": "network_error"}"#, &observed);
        assert_eq!(rendered.withheld, Some(RecordedCut::Reset));
        assert_eq!(rendered.delivery.chunks[0].at_ms, 5.0);
    }
    let cut = r#"{"text": "One"}, {"stream_error": "cancelled"}, {"text": "dropped"}"#;
    let rendered = only(cut, &chat(true));
    assert_eq!(rendered.delivery.end, ResponseEnd::UpstreamAbort(RecordedCut::Close));
    assert!(rendered.withheld.is_none() && !told(&rendered).contains("[DONE]"));
    assert!(told(&rendered).contains("One") && !told(&rendered).contains("dropped"));
    assert_eq!(only(cut, &chat(false)).withheld, Some(RecordedCut::Close));
    let array = told(&only(cut, &gemini(true, "")));
    assert!(array.starts_with('[') && !array.ends_with(']'), "{array}");
    let silent = only(r#"{"text": "One"}, {"stream_error": "timeout"}"#, &chat(true)).delivery;
    assert_eq!(silent.chunks.last().map(|chunk| chunk.at_ms), Some(600_000.0));
    assert_eq!(silent.end, ResponseEnd::UpstreamAbort(RecordedCut::Close));
}

#[test]
fn a_malformed_answer_does_not_parse() {
    let parses = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    let rendered = only(r#"{"error": "malformed_response"}"#, &chat(false));
    assert_eq!(rendered.delivery.status.as_u16(), 200);
    assert!(!parses(&told(&rendered)));
    let stream =
        told(&only(r#"{"text": "One"}, {"stream_error": "malformed_event"}"#, &chat(true)));
    let last = stream.trim_end().rsplit("data: ").next().unwrap();
    assert!(stream.contains("One") && !parses(last), "{stream}");
}

#[test]
fn a_whole_answer_says_what_its_fields_say() {
    let ok = r#"{"ok": {"output_text": "Hi", "model": "other", "finish_reason": "length",
        "request_id": "req_9", "usage": {"input_tokens": 3, "output_tokens": 2,
        "cached_input_tokens": 1}, "tool_calls": [{"id": "c1", "name": "f",
        "arguments": {"a": 1}}]}}, {"text": "dropped"}"#;
    for observed in [chat(false), chat(true), message(false), message(true)] {
        let response = answer(&script(&format!("[[{ok}]]")), &observed);
        let read = read(&response, &observed);
        assert_eq!((&*read.content, read.model.as_deref()), ("Hi", Some("other")));
        assert_eq!(
            (&*read.tool_calls[0].id, &read.tool_calls[0].arguments),
            ("c1", &json!({"a": 1}))
        );
        let usage = read.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (3, 2));
        let name = if observed.call.provider == Provider::ANTHROPIC { "" } else { "x-" };
        assert_eq!(response.rendered.delivery.headers[format!("{name}request-id")], "req_9");
    }
    let message =
        told(&only(r#"{"ok": {"message": {"role": "assistant", "content": "Yo"}}}"#, &chat(false)));
    assert!(message.contains("\"Yo\"") && message.contains("\"stop\""), "{message}");
}

#[test]
fn other_words_for_an_entry_mean_the_same() {
    let same = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|entries| told(&only(entries, &chat(true))));
        assert_eq!(one, other);
    };
    same(r#"{"text_delta": "a"}, {"text": "b"}"#, r#"{"text": "a"}, {"text": "b"}"#);
    let raw =
        r#"{"tool_call": {"id": "c", "name": "f", "arguments": {}, "raw_arguments": "{\"a\":"}}"#;
    same(raw, r#"{"tool_call": {"id": "c", "name": "f", "arguments": "{\"a\":"}}"#);
    let delivery = only(r#"{"sleep": 7}, {"text": "a"}"#, &chat(false)).delivery;
    assert_eq!(delivery.chunks[0].at_ms, 7.0);
}

#[test]
fn streams_and_complete_calls_are_answered_from_lists_of_their_own() {
    let text = r#"{"script": [{"text": "whole"}], "stream_script": [[{"text": "one"}],
        [{"text": "two"}]], "usage": {"input_tokens": 5}, "request_id": "req_1"}"#;
    let script = script(text);
    assert_eq!(script.len(), 3);
    let says = |streamed: bool| {
        let observed = chat(streamed);
        let response = answer(&script, &observed);
        assert_eq!(response.rendered.delivery.headers["x-request-id"], "req_1");
        let answer = read(&response, &observed);
        assert_eq!(answer.usage.unwrap().prompt_tokens, 5);
        (answer.content, response.turn)
    };
    assert_eq!(says(true), ("one".to_owned(), Some(ScriptTurn::Call(2))));
    assert_eq!(says(false), ("whole".to_owned(), Some(ScriptTurn::Call(1))));
    assert_eq!(says(true), ("two".to_owned(), Some(ScriptTurn::Call(3))));
    for streamed in [true, false] {
        let why =
            script.answer(&chat(streamed), Provider::OPEN_AI, RuleLookup::Pending).unwrap_err();
        let calls = if streamed { 2 } else { 1 };
        assert_eq!(why, NoScriptedResponse::UsedUp { calls });
    }
    assert_eq!(script.unreached_calls(), 0);
    let (cursors, left_out) = script.session_cursors(5);
    assert_eq!((cursors[0].index, cursors[0].stream_index, left_out), (1, Some(2), 0));
    let only_streams =
        super::Script::parse(br#"{"stream_script": [{"text": "a"}]}"#, ScriptNotation::Json);
    let only_streams = only_streams.unwrap();
    let why =
        only_streams.answer(&chat(false), Provider::OPEN_AI, RuleLookup::Pending).unwrap_err();
    assert_eq!(why, NoScriptedResponse::OnlyStreams);
    assert!(why.to_string().starts_with("no scripted response"), "{why}");
    assert_eq!(answer(&only_streams, &chat(true)).turn, Some(ScriptTurn::Call(1)));
}
