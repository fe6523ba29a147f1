use std::ops::ControlFlow;

use serde_json::json;

use super::super::super::exchange::{ForeignExchange, FoundItem, TextAnswer, TextExchange};
use super::super::super::{ForeignFormat, read as find};
use super::*;

fn found(text: &str) -> (Vec<FoundItem>, Option<String>) {
    let mut items = Vec::new();
    let done = find(ForeignFormat::Otel, &mut text.as_bytes(), &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done.err().map(|error| error.to_string()))
}

fn only(span: &Value) -> FoundItem {
    let (mut items, problem) = found(&span.to_string());
    assert_eq!((items.len(), problem), (1, None));
    items.remove(0)
}

fn exchange(span: &Value) -> ForeignExchange {
    match only(span) {
        FoundItem::Exchange(exchange) => *exchange,
        other => panic!("{other:?}"),
    }
}

fn words(span: &Value) -> TextExchange {
    match only(span) {
        FoundItem::Words(words) => *words,
        other => panic!("{other:?}"),
    }
}

fn left(span: &Value) -> String {
    match only(span) {
        FoundItem::Left(left) => left.reason,
        other => panic!("{other:?}"),
    }
}

fn span(attributes: &Value) -> Value {
    json!({ "name": "x", "attributes": attributes })
}

#[test]
fn spans_are_found_in_every_wrapping() {
    let inner = json!({ "name": "x", "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001500000000", "attributes": [
        { "key": "openinference.span.kind", "value": { "stringValue": "LLM" } },
        { "key": "llm.system", "value": { "stringValue": "openai" } },
        { "key": "input.value", "value": { "stringValue":
            "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"model\": \"m\"}" } },
        { "key": "output.value", "value": { "stringValue":
            "{\"choices\": [{\"message\": {\"content\": \"a\"}}]}" } } ] });
    let scope = json!({ "scopeSpans": [{ "scope": { "name": "s" }, "spans": [inner] }] });
    let line = json!({ "resourceSpans": [scope, { "resource": {} }] }).to_string();
    for text in
        [format!("{line}\n"), format!("\n{line}\n"), format!("[{inner}]"), inner.to_string()]
    {
        let (items, problem) = found(&text);
        assert_eq!((items.len(), problem), (1, None), "{text}");
        let FoundItem::Exchange(exchange) = &items[0] else { panic!("{items:?}") };
        assert_eq!(exchange.request.url, "https://api.openai.com/v1/chat/completions");
        // The exact text, including spaces.
        assert!(exchange.request.body.starts_with(b"{\"messages\": [{"));
        assert_eq!(exchange.duration_ms, Some(1500.0));
        assert_eq!(exchange.started.as_deref(), Some("2023-11-14T22:13:20.000000Z"));
    }
    let (items, problem) = found(&format!("{line}\n{line}\n"));
    assert_eq!((items.len(), problem), (2, None));
}

#[test]
fn raw_bodies_tell_what_kind_of_call_it_was() {
    let kind = |system: &str, input: Value, output: Value| {
        let kind = if output.get("data").is_some() { "EMBEDDING" } else { "LLM" };
        exchange(&span(&json!({ "openinference.span.kind": kind, "llm.provider": system,
            "input.value": input.to_string(), "output.value": output.to_string() })))
        .request
        .url
    };
    let messages = json!({ "model": "m", "max_tokens": 1, "messages": [] });
    let message = json!({ "role": "assistant", "content": [] });
    assert_eq!(kind("anthropic", messages, message), "https://api.anthropic.com/v1/messages");
    let responses = json!({ "model": "m", "input": "a" });
    let response = json!({ "object": "response", "output": [] });
    assert_eq!(kind("openai", responses.clone(), response), "https://api.openai.com/v1/responses");
    let vectors = json!({ "data": [{ "embedding": [1.5] }] });
    assert_eq!(kind("openai", responses, vectors), "https://api.openai.com/v1/embeddings");
}

#[test]
fn request_asks_for_the_complete_answer_that_a_span_keeps_of_a_stream() {
    let answer = json!({ "choices": [{ "message": {} }], "candidates": [] }).to_string();
    let asked = |url: &str, body: Value| {
        exchange(&span(&json!({ "gen_ai.operation.name": "chat", "url.full": url,
            "input.value": body.to_string(), "output.value": answer })))
        .request
    };
    let chat = json!({ "stream": true, "stream_options": {}, "model": "m" });
    assert_eq!(asked("https://api.openai.com/v1/chat/completions", chat).body, r#"{"model":"m"}"#);
    let gemini = "https://g.example/v1/models/m:streamGenerateContent?alt=sse&a=b";
    let url = asked(gemini, json!({})).url;
    assert_eq!(url, "https://g.example/v1/models/m:generateContent?a=b");
}

#[test]
fn words_are_found_in_each_convention() {
    let call = json!([{ "type": "tool_call", "id": "c", "name": "f", "arguments": { "a": 1 } }]);
    let newest = span(&json!({
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3,
        "gen_ai.system_instructions": json!([{ "type": "text", "content": "S" }]).to_string(),
        "gen_ai.input.messages": [{ "role": "user", "parts": [{ "type": "text", "content": "hi" }] }],
        "gen_ai.output.messages": [{ "role": "assistant", "parts": call, "finish_reason": "tool_call" }],
    }));
    let inference = span(&json!({
        "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 3,
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "S",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.text": "hi",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"a\":1}",
    }));
    let traceloop = span(&json!({
        "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 3,
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "S",
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "hi",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c", "gen_ai.completion.0.tool_calls.0.name": "f",
        "gen_ai.completion.0.tool_calls.0.arguments": "{\"a\":1}",
    }));
    let events = json!({ "name": "x", "attributes":
        { "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3 },
        "events": [
            { "name": "gen_ai.system.message", "attributes": { "content": "S" } },
            { "name": "gen_ai.user.message", "attributes": { "content": "hi" } },
            { "name": "gen_ai.choice", "attributes": { "message": json!({ "tool_calls":
                [{ "id": "c", "function": { "name": "f", "arguments": "{\"a\":1}" } }] }).to_string() } },
        ] });
    for (which, span) in [newest, inference, traceloop, events].iter().enumerate() {
        let words = words(span);
        let body: Value = serde_json::from_slice(&words.request.body).unwrap();
        assert_eq!(body["model"], "m", "{which}");
        assert_eq!(body["messages"][0], json!({ "role": "system", "content": "S" }), "{which}");
        let asked = &body["messages"][1]["content"];
        assert!(*asked == "hi" || asked[0]["text"] == "hi", "{which}: {body}");
        let TextAnswer::Answer(answer) = words.said else { panic!("{which}") };
        assert_eq!(answer.tool_calls[0].arguments, json!({ "a": 1 }), "{which}");
        assert_eq!(answer.usage.unwrap().prompt_tokens, 3, "{which}");
    }
}

#[test]
fn other_spans_are_left_out_with_their_kind() {
    let chain = span(&json!({ "openinference.span.kind": "CHAIN", "input.value": "x" }));
    assert!(left(&chain).contains("CHAIN"));
    assert!(left(&span(&json!({ "http.method": "GET" }))).contains("not a call of a model"));
    let empty = span(&json!({ "openinference.span.kind": "LLM", "llm.model_name": "m" }));
    assert!(left(&empty).contains("what was asked"));
    let gemini = span(&json!({ "gen_ai.operation.name": "chat", "gen_ai.system": "gcp.gemini" }));
    assert!(left(&gemini).contains("cannot be built from text for gcp.gemini"));
    let failed = json!({ "name": "x", "attributes": { "openinference.span.kind": "LLM" },
        "status": { "code": "STATUS_CODE_ERROR" } });
    assert!(left(&failed).contains("it failed"));
}

#[test]
fn bad_file_is_told_by_what_is_wrong_and_where() {
    let told = |text: &str| found(text).1.unwrap_or_else(|| panic!("it was read: {text}"));
    assert!(told("").contains("it holds no spans"));
    assert!(told("{\"a\": 1}").contains("neither is nor holds a span"));
    assert!(told("7").contains("expected an object with `resourceSpans`"));
    let one = span(&json!({ "a": 1 })).to_string();
    let cut = told(&format!("{one}\n{}", &one[..one.len() - 3]));
    assert!(cut.contains("after span 1: ") && cut.contains("line 2"), "{cut}");
    assert!(told("{\"name\": \"a\", \"name\": \"b\"}").contains("`name` occurs twice"));
    assert!(told(&"[".repeat(100_000)).contains("nested too deeply"));
    let deep = format!("{{\"attributes\": {}", "[".repeat(100_000));
    assert!(told(&deep).contains("recursion limit"));
    let holders = "{\"spans\":".repeat(100_000);
    assert!(told(&holders).contains("nested too deeply"));
}
