//! Tests of answers as single providers and gateways send them.

use serde_json::json;

use super::*;

fn chat(events: &[&str]) -> JudgedAnswer {
    let text: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    received(Operation::CHAT_COMPLETIONS, "text/event-stream", text.as_bytes())
}

#[test]
fn either_end_of_a_chat_is_enough_and_choices_end_each() {
    let (text, stop) = (
        r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    );
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1}}"#;
    let second = r#"{"choices":[{"index":1,"delta":{"content":"Ho"},"finish_reason":null}]}"#;
    for events in [
        &[text, stop, usage, "[DONE]"][..],
        &[text, stop, usage],
        &[text, stop],
        &[text, "[DONE]"],
        &[text, second, stop, "[DONE]"],
    ] {
        assert_eq!(chat(events), JudgedAnswer::COMPLETE, "{events:?}");
    }
    for events in [&[text][..], &[text, second, stop], &[usage]] {
        assert_eq!(chat(events).outcome, AnswerOutcome::Unfinished, "{events:?}");
    }
    let comments = b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n";
    assert_eq!(
        outcome(Operation::CHAT_COMPLETIONS, "text/event-stream", comments),
        AnswerOutcome::Unfinished
    );
}

#[test]
fn failures_of_dialects_are_found() {
    for failed in [
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}"#,
        r#"{"choices":[{"index":0,"error":{"code":502,"message":"Provider returned error"}}]}"#,
        r#"{"object":"error","message":"CUDA","code":500}"#,
        r#"{"error":"busy"}"#,
        r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
    ] {
        for events in [&[failed][..], &[failed, "[DONE]"]] {
            assert_eq!(chat(events).outcome, AnswerOutcome::FailedByProvider, "{events:?}");
        }
    }
    for sound in [
        r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"error":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"length"}],"error":{}}"#,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"error":"","base_resp":{"status_code":0}}"#,
    ] {
        assert_eq!(chat(&[sound]), JudgedAnswer::COMPLETE, "{sound}");
        let whole = outcome(Operation::CHAT_COMPLETIONS, "application/json", sound.as_bytes());
        assert_eq!(whole, AnswerOutcome::Complete, "{sound}");
    }
    let named = b"event: error\ndata: overloaded\n\n";
    let judged = received(Operation::CHAT_COMPLETIONS, "text/event-stream", named);
    assert_eq!(judged.description(), "the provider reported an error: overloaded");
}

#[test]
fn states_of_a_response_are_told_apart() {
    let status = |status: &str| {
        let body = json!({ "object": "response", "status": status, "error": null, "output": [] });
        outcome(Operation::RESPONSES, "application/json", body.to_string().as_bytes())
    };
    for good in ["completed", "incomplete", "queued", "in_progress"] {
        assert_eq!(status(good), AnswerOutcome::Complete, "{good}");
    }
    assert_eq!(["failed", "cancelled"].map(status), [AnswerOutcome::FailedByProvider; 2]);
    let stream = |kind: &str| {
        let error = json!({ "code": "server_error", "message": "It broke." });
        let response = json!({ "status": "x", "output": [], "error": error });
        let created = json!({ "type": "response.created", "response": { "error": null } });
        let last = json!({ "type": kind, "response": response });
        let text = format!("event: response.created\ndata: {created}\n\ndata: {last}\n\n");
        received(Operation::RESPONSES, "text/event-stream", text.as_bytes())
    };
    assert_eq!(
        stream("response.failed").description(),
        "the provider reported an error: It broke."
    );
    assert_eq!(stream("response.incomplete"), JudgedAnswer::COMPLETE);
    assert_eq!(stream("response.in_progress").outcome, AnswerOutcome::Unfinished);
}

#[test]
fn other_providers_own_ends_and_failures_are_found() {
    use AnswerOutcome::{Complete, FailedByProvider, Unfinished};
    for (operation, media, body, expected) in [
        (
            Operation::GENERATE_CONTENT,
            "text/event-stream",
            "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n",
            Complete,
        ),
        (
            Operation::GENERATE_CONTENT,
            "text/event-stream",
            "data: {\"usageMetadata\":{}}\n\n",
            Unfinished,
        ),
        (
            Operation::GENERATE_CONTENT,
            "application/json",
            "[{\"candidates\":[{\"finishReason\":\"STOP\"}]}]",
            Complete,
        ),
        (
            Operation::GENERATE_CONTENT,
            "application/json",
            "[{\"candidates\":[{\"finishReason\":\"STOP\"}]}",
            Unfinished,
        ),
        (
            Operation::GENERATE_CONTENT,
            "application/json",
            "[{\"candidates\":[{}]},{\"error\":{\"message\":\"x\"}}]",
            FailedByProvider,
        ),
        (Operation::GENERATE_CONTENT, "application/json", "[{\"candidates\":[{}]}]", Unfinished),
        (
            Operation::OLLAMA_CHAT,
            "application/x-ndjson",
            "{\"message\":{\"content\":\"a\"},\"done\":false}\n",
            Unfinished,
        ),
        (
            Operation::OLLAMA_CHAT,
            "application/json",
            "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true}\n",
            Complete,
        ),
        (
            Operation::OLLAMA_CHAT,
            "application/x-ndjson",
            "{\"done\":false}\n{\"error\":\"gone\"}\n",
            FailedByProvider,
        ),
        (
            Operation::OLLAMA_GENERATE,
            "application/json",
            "{\n  \"response\": \"a\",\n  \"done\": true\n}",
            Complete,
        ),
        (
            Operation::COHERE_CHAT,
            "text/event-stream",
            "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\"}}\n\n",
            FailedByProvider,
        ),
        (
            Operation::COHERE_CHAT,
            "text/event-stream",
            "data: {\"type\":\"message-start\"}\n\ndata: {\"message\":\"internal\"}\n\n",
            FailedByProvider,
        ),
        (
            Operation::COHERE_CHAT,
            "application/json",
            "{\"message\":{\"content\":[]},\"finish_reason\":\"TIMEOUT\"}",
            FailedByProvider,
        ),
        (
            Operation::COHERE_CHAT,
            "application/stream+json",
            "{\"event_type\":\"text-generation\"}\n{\"event_type\":\"stream-end\",\"finish_reason\":\"COMPLETE\",\"response\":{}}\n",
            Complete,
        ),
        (
            Operation::MESSAGES,
            "text/event-stream",
            "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            Unfinished,
        ),
        (Operation::SPEECH, "audio/mpeg", ":ID3 anything", Complete),
        (
            Operation::SPEECH,
            "application/json",
            "{\"error\":{\"message\":\"x\"}}",
            FailedByProvider,
        ),
        (Operation::TRANSCRIPTION, "text/plain", "data: is what I said", Complete),
        (Operation::TRANSCRIPTION, "text/plain", "", Complete),
        (
            Operation::CONVERSE,
            "application/json",
            "{\"Output\":{\"__type\":\"UnknownOperationException\"}}",
            FailedByProvider,
        ),
        (Operation::RERANK, "application/json", "{\"results\":[]}", Complete),
    ] {
        assert_eq!(outcome(operation, media, body.as_bytes()), expected, "{operation:?} {body}");
    }
}

#[test]
fn long_streams_are_judged_as_short_ones() {
    let chunk = |text: &str| json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }] });
    let mut events: Vec<String> =
        (0..200).map(|_| chunk("some words of the answer").to_string()).collect();
    let done = |events: &[String]| {
        let events: Vec<&str> = events.iter().map(String::as_str).chain(["[DONE]"]).collect();
        chat(&events).outcome
    };
    assert_eq!(done(&events), AnswerOutcome::Complete);
    let all: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(chat(&all).outcome, AnswerOutcome::Unfinished);
    events.insert(20, json!({ "error": { "message": "Overloaded" } }).to_string());
    assert_eq!(done(&events), AnswerOutcome::FailedByProvider);
}
