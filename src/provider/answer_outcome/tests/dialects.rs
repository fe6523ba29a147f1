//! Tests of answers as single providers and gateways send them.

use serde_json::json;

use super::*;

fn chat(events: &[&str]) -> JudgedAnswer {
    let text: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    judge(Operation::CHAT_COMPLETIONS, "text/event-stream", text.as_bytes())
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
    let judged = judge(Operation::CHAT_COMPLETIONS, "text/event-stream", named);
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
        judge(Operation::RESPONSES, "text/event-stream", text.as_bytes())
    };
    assert_eq!(
        stream("response.failed").description(),
        "the provider reported an error: It broke."
    );
    assert_eq!(stream("response.incomplete"), JudgedAnswer::COMPLETE);
    assert_eq!(stream("response.in_progress").outcome, AnswerOutcome::Unfinished);
}

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

/// Compares the outcomes of answers of one operation with the expected ones.
fn expect_outcomes(operation: Operation, answers: &[(&str, &str, AnswerOutcome)]) {
    for (media, body, expected) in answers {
        assert_eq!(outcome(operation, media, body.as_bytes()), *expected, "{operation:?} {body}");
    }
}

#[test]
fn ends_and_failures_of_gemini_are_found() {
    use AnswerOutcome::{Complete, FailedByProvider, Unfinished};
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    let failed = "[{\"candidates\":[{}]},{\"error\":{\"message\":\"x\"}}]";
    expect_outcomes(
        Operation::GENERATE_CONTENT,
        &[
            (EVENTS, blocked, Complete),
            (EVENTS, "data: {\"usageMetadata\":{}}\n\n", Unfinished),
            (JSON, "[{\"candidates\":[{\"finishReason\":\"STOP\"}]}]", Complete),
            (JSON, "[{\"candidates\":[{\"finishReason\":\"STOP\"}]}", Unfinished),
            (JSON, failed, FailedByProvider),
            (JSON, "[{\"candidates\":[{}]}]", Unfinished),
        ],
    );
}

#[test]
fn ends_and_failures_of_ollama_are_found() {
    use AnswerOutcome::{Complete, FailedByProvider, Unfinished};
    let turn = "{\"message\":{\"content\":\"a\"},\"done\":false}\n";
    expect_outcomes(
        Operation::OLLAMA_CHAT,
        &[
            (LINES, turn, Unfinished),
            (JSON, &format!("{turn}{{\"done\":true}}\n"), Complete),
            (LINES, "{\"done\":false}\n{\"error\":\"gone\"}\n", FailedByProvider),
        ],
    );
    let whole = "{\n  \"response\": \"a\",\n  \"done\": true\n}";
    expect_outcomes(Operation::OLLAMA_GENERATE, &[(JSON, whole, Complete)]);
}

#[test]
fn ends_and_failures_of_cohere_are_found() {
    use AnswerOutcome::{Complete, FailedByProvider};
    let end = "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\"}}\n\n";
    let internal = "data: {\"type\":\"message-start\"}\n\ndata: {\"message\":\"internal\"}\n\n";
    let late = "{\"message\":{\"content\":[]},\"finish_reason\":\"TIMEOUT\"}";
    let first_version = concat!(
        "{\"event_type\":\"text-generation\"}\n",
        "{\"event_type\":\"stream-end\",\"finish_reason\":\"COMPLETE\",\"response\":{}}\n"
    );
    expect_outcomes(
        Operation::COHERE_CHAT,
        &[
            (EVENTS, end, FailedByProvider),
            (EVENTS, internal, FailedByProvider),
            (JSON, late, FailedByProvider),
            ("application/stream+json", first_version, Complete),
        ],
    );
    expect_outcomes(Operation::RERANK, &[(JSON, "{\"results\":[]}", Complete)]);
}

#[test]
fn ends_and_failures_of_other_answers_are_found() {
    use AnswerOutcome::{Complete, FailedByProvider, Unfinished};
    let ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
    expect_outcomes(Operation::MESSAGES, &[(EVENTS, ping, Unfinished)]);
    let error = "{\"error\":{\"message\":\"x\"}}";
    expect_outcomes(
        Operation::SPEECH,
        &[("audio/mpeg", ":ID3 anything", Complete), (JSON, error, FailedByProvider)],
    );
    expect_outcomes(
        Operation::TRANSCRIPTION,
        &[("text/plain", "data: is what I said", Complete), ("text/plain", "", Complete)],
    );
    let unknown = "{\"Output\":{\"__type\":\"UnknownOperationException\"}}";
    expect_outcomes(Operation::CONVERSE, &[(JSON, unknown, FailedByProvider)]);
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
