use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use loomrec_identity::IdentityRules;
use loomrec_provider::{Answer, Operation};
use loomrec_recording::entry::RecordedRequest;

fn script(text: &str) -> Script {
    Script::parse(text.as_bytes(), ScriptNotation::Json).unwrap()
}

/// Returns the request of an OpenAI client with this path, which may have a query, and this body.
pub(crate) fn observed(target: &str, body: &Value) -> NormalizedRequest {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = RecordedRequest {
        method: "POST".to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Bytes::from(body.to_string()),
        ..RecordedRequest::default()
    };
    NormalizedRequest::new("openai".to_owned(), request, &[IdentityRules::default()])
}

fn chat(streamed: bool) -> NormalizedRequest {
    let body = json!({"model": "gpt-4o", "messages": [], "stream": streamed,
        "stream_options": {"include_usage": true}});
    observed("/v1/chat/completions", &body)
}

fn message(streamed: bool) -> NormalizedRequest {
    let body = json!({"model": "claude", "messages": [], "max_tokens": 9, "stream": streamed});
    observed("/v1/messages", &body)
}

fn answer(script: &Script, observed: &NormalizedRequest) -> ScriptedResponse {
    script.answer(observed, observed.call.provider, RuleLookup::Pending).unwrap()
}

fn body(response: &ScriptedResponse) -> Vec<u8> {
    response.rendered.delivery.chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect()
}

fn text(response: &ScriptedResponse) -> String {
    String::from_utf8(body(response)).unwrap()
}

fn read(response: &ScriptedResponse, observed: &NormalizedRequest) -> Answer {
    let framing = response.rendered.streamed.then_some(loomrec_provider::Framing::Sse);
    loomrec_provider::read_answer(observed.call.operation, framing, &body(response)).unwrap()
}

const FULL: &str = r#"[[
    {"text": "One "}, {"type": "text", "text": "two."}, {"delay": 40},
    {"tool_call": {"id": "c1", "name": "add", "arguments": {"a": 1}}},
    {"type": "tool_call", "id": "c2", "name": "sub"}, {"delay": 2},
    {"tool_call_delta": {"id": "c2", "arguments_delta": "{\"b\":"}},
    {"tool_call_delta": {"id": "c2", "arguments_delta": " 2}"}},
    {"usage": {"input_tokens": 3, "completion_tokens": 4}},
    {"finish": "tool_calls"}, {"text": "never said"}
]]"#;

#[test]
fn a_call_says_the_same_whoever_asks_and_however_it_is_delivered() {
    for observed in [chat(false), chat(true), message(false), message(true)] {
        let response = answer(&script(FULL), &observed);
        let answer = read(&response, &observed);
        assert_eq!(answer.content, "One two.");
        let calls: Vec<_> =
            answer.tool_calls.iter().map(|call| (&*call.name, &call.arguments)).collect();
        assert_eq!(calls, [("add", &json!({"a": 1})), ("sub", &json!({"b": 2}))]);
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (3, 4, 7));
        let calls =
            if observed.call.operation == Operation::MESSAGES { "tool_use" } else { "tool_calls" };
        assert_eq!(answer.finish_reason.as_deref(), Some(calls));
    }
}

#[test]
fn entries_come_one_after_the_other_each_at_its_time() {
    let response = answer(&script(FULL), &chat(true));
    let at = |words: &str| {
        let chunks = &response.rendered.delivery.chunks;
        let holds = |data: &Bytes| String::from_utf8_lossy(data).contains(words);
        chunks.iter().find(|chunk| holds(&chunk.data)).unwrap_or_else(|| panic!("{words}")).at_ms
    };
    let places = ["\"One \"", "\"two.\"", "\"add\"", "\"sub\"", " 2}", "[DONE]"];
    assert_eq!(places.map(at), [0.0, 0.0, 40.0, 40.0, 42.0, 42.0]);
    let complete = answer(&script(FULL), &chat(false));
    assert_eq!(complete.rendered.delivery.chunks[0].at_ms, 42.0);
}

#[test]
fn an_empty_list_is_an_empty_success() {
    for observed in [chat(false), chat(true), message(false), message(true)] {
        let response = answer(&script("[[]]"), &observed);
        assert_eq!(response.rendered.delivery.status, 200);
        let answer = read(&response, &observed);
        assert_eq!((answer.content.as_str(), answer.tool_calls.len()), ("", 0));
        assert!(answer.finish_reason.is_some());
    }
}

#[test]
fn an_error_that_comes_first_is_the_failure_of_the_call() {
    let failure = |observed: &NormalizedRequest| {
        let first = r#"[[{"delay": 5}, {"error": {"status": 429, "message": "slow down"}}]]"#;
        answer(&script(first), observed).rendered.delivery
    };
    for observed in [chat(false), chat(true)] {
        let delivery = failure(&observed);
        assert_eq!((delivery.status.as_u16(), delivery.chunks[0].at_ms), (429, 5.0));
        let body: Value = serde_json::from_slice(&delivery.chunks[0].data).unwrap();
        assert_eq!(body["error"]["message"], "slow down");
    }
    let body: Value = serde_json::from_slice(&failure(&message(true)).chunks[0].data).unwrap();
    assert_eq!(
        (&body["type"], &body["error"]["type"]),
        (&json!("error"), &json!("rate_limit_error"))
    );
}

#[test]
fn an_error_that_comes_later_is_one_in_the_stream_and_the_failure_of_a_complete_call() {
    let later = r#"[[{"text": "Well, "}, {"error": {"status": 529, "message": "busy",
        "type": "overloaded_error"}}]]"#;
    let response = answer(&script(later), &message(true));
    assert_eq!(response.rendered.delivery.status, 200);
    let stream = text(&response);
    assert!(stream.ends_with(
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"
    ), "{stream}");
    assert!(stream.contains("Well, ") && !stream.contains("message_stop"), "{stream}");
    let response = answer(&script(later), &chat(true));
    let stream = text(&response);
    assert!(stream.contains("Well, ") && !stream.contains("[DONE]"), "{stream}");
    assert!(stream.trim_end().ends_with("\"code\":null}}"), "{stream}");
    assert_eq!(answer(&script(later), &message(false)).rendered.delivery.status, 529);
}

#[test]
fn a_stream_that_fails_does_not_tell_that_it_has_ended() {
    let later = r#"[[{"text": "Well, "}, {"tool_call": {"name": "f"}}, {"error": "busy"}], []]"#;
    let spoken = script(r#"[[{"text": "Well, "}, {"error": "busy"}], [{"text": "Well"}]]"#);
    let gemini = observed("/v1beta/models/g:streamGenerateContent", &json!({}));
    let stream = text(&answer(&spoken, &gemini));
    assert!(stream.contains("Well, ") && stream.contains("busy"), "{stream}");
    assert!(!stream.contains("finishReason") && !stream.contains("usageMetadata"), "{stream}");
    assert!(text(&answer(&spoken, &gemini)).contains("\"finishReason\":\"STOP\""));
    // Mistral sends tool calls with the end of their choice.
    let mut mistral = chat(true);
    mistral.upstream = "mistral".to_owned();
    let stream = text(&answer(&script(later), &mistral));
    assert!(stream.contains("\"name\":\"f\"") && stream.contains("busy"), "{stream}");
    assert!(!stream.contains("\"tool_calls\"}") && !stream.contains("total_tokens"), "{stream}");
}

#[test]
fn raw_chunks_stand_where_they_stand_and_have_no_place_in_a_complete_answer() {
    let raw = r#"[[{"text": "a"}, {"raw_chunk": ": here\n\n"}, {"text": "b"}, {"raw_chunk": {"base64": "OnRoZXJlCgo="}}]]"#;
    let stream = text(&answer(&script(raw), &chat(true)));
    let at = |words: &str| stream.find(words).unwrap_or_else(|| panic!("{words}: {stream}"));
    let places =
        ["\"content\":\"a\"", ": here\n\n", "\"content\":\"b\"", ":there\n\n", "[DONE]"].map(at);
    assert!(places.is_sorted(), "{places:?}");
    let complete = text(&answer(&script(raw), &chat(false)));
    assert!(complete.contains("\"ab\"") && !complete.contains("here"), "{complete}");
}

#[test]
fn raw_chunks_alone_are_all_of_the_answer() {
    let raw = r#"[[{"raw_chunk": "data: x\n\n"}, {"delay": 3}, {"raw_chunk": "data"}]]"#;
    let response = answer(&script(raw), &chat(true));
    assert_eq!(text(&response), "data: x\n\ndata");
    assert_eq!(response.rendered.delivery.chunks[1].at_ms, 3.0);
    let speech = observed("/v1/audio/speech", &json!({"model": "tts-1", "input": "hi"}));
    assert_eq!(text(&answer(&script(raw), &speech)), "data: x\n\ndata");
}

#[test]
fn the_cursor_moves_on_before_an_entry_is_looked_at_and_each_session_has_its_own() {
    let script = script(r#"[[{"text": "a"}], [{"text": "b"}]]"#);
    let listed = observed("/v1/models", &json!({}));
    let why = script.answer(&listed, Provider::OPEN_AI, RuleLookup::Pending).unwrap_err();
    assert!(matches!(why, NoScriptedResponse::Unfit { call: 1, .. }), "{why}");
    assert_eq!(
        (script.unreached_calls(), answer(&script, &chat(false)).turn),
        (1, Some(ScriptTurn::Call(2)))
    );
    let why = script.answer(&chat(false), Provider::OPEN_AI, RuleLookup::Pending).unwrap_err();
    assert_eq!(why, NoScriptedResponse::UsedUp { calls: 2 });
    assert!(why.to_string().starts_with("no scripted response"), "{why}");
    let mut other = chat(false);
    other.session = Some("other".to_owned());
    assert_eq!(answer(&script, &other).turn, Some(ScriptTurn::Call(1)));
    script.reset(Some("other"));
    assert_eq!(answer(&script, &other).turn, Some(ScriptTurn::Call(1)));
    assert!(script.answer(&chat(false), Provider::OPEN_AI, RuleLookup::Pending).is_err());
    script.reset(None);
    assert_eq!(answer(&script, &chat(false)).turn, Some(ScriptTurn::Call(1)));
}

#[test]
fn calls_before_the_first_that_is_answered_fail_and_leave_the_cursor() {
    let script = script(r#"{"scripts": [[{"text": "at last"}]], "retry_until_call": 3}"#);
    for _ in 0..2 {
        let response = answer(&script, &chat(true));
        assert_eq!((response.rendered.delivery.status.as_u16(), response.turn), (503, None));
    }
    assert_eq!(answer(&script, &chat(true)).turn, Some(ScriptTurn::Call(1)));
    assert!(script.answer(&chat(true), Provider::OPEN_AI, RuleLookup::Pending).is_err());
    let text =
        r#"{"scripts": [], "retry_until_call": 2, "retry_error": {"status": 429, "message": "m"}}"#;
    let given = Script::parse(text.as_bytes(), ScriptNotation::Json).unwrap();
    assert_eq!(answer(&given, &message(false)).rendered.delivery.status, 429);
}

#[test]
fn ids_are_the_same_on_every_run_and_differ_between_calls() {
    let id = |script: &Script| {
        let body: Value = serde_json::from_slice(&body(&answer(script, &chat(false)))).unwrap();
        body["id"].as_str().unwrap().to_owned()
    };
    let (one, other) = (script("[[], []]"), script("[[]]"));
    let first = id(&one);
    assert_eq!(first, id(&other));
    assert_ne!(first, id(&one));
}

mod files;
mod form;
