use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::body::tests::any_piece;
use super::super::body::{Chunk, ChunkLayout};
use super::super::json_style::write_file_value;
use super::super::log_codec::tests::any_entry;
use super::*;

fn parsed(value: &Value) -> Entry {
    Entry::parse(value).unwrap()
}

fn refused(value: &Value) -> String {
    Entry::parse(value).unwrap_err().to_string()
}

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn full() -> Value {
    json!({
        "content": "The article argues…", "model": "claude-sonnet-4",
        "usage": {"prompt_tokens": 412, "completion_tokens": 88, "total_tokens": 500,
                  "reasoning_tokens": 0, "cached_tokens": 7},
        "cost_usd": 0.00264, "latency_ms": 1843.2, "finish_reason": "end_turn",
        "tool_calls": [{"id": "", "name": "t", "arguments": {"a": 1}}],
        "embeddings": [[0.1, 1.0]],
        "request_hash": HASH, "provider": "anthropic", "upstream": "anthropic",
        "session": "s", "recorded_at": "2026-11-21T22:47:48.818000Z",
        "request": {"method": "POST", "path": "/v1/messages", "query": "beta=true",
                    "headers": {"accept": "x"}, "body": {"seed": 9007199254740993_u64}},
        "client_left": {"ms": 320.5, "bytes": 9},
        "fault": {"type": "slow"},
        "response": {"status": 200, "headers": [["a", "1"], ["b", "2"], ["a", "3"]],
                     "end": "upstream_abort", "cut": "reset",
                     "chunks": [[312.4, "data: 1\n\n"], [331.0, {"base64": "/w=="}]]},
        "x_unknown": [null]
    })
}

#[test]
fn full_entry_is_written_as_it_was_read() {
    let entry = parsed(&full());
    assert_eq!(entry.to_json().to_string(), full().to_string());
    let response = entry.response.unwrap();
    assert_eq!(response.end, ResponseEnd::UpstreamAbort(RecordedCut::Reset));
    assert_eq!(response.payload.layout(), ChunkLayout::Chunks);
    assert_eq!(&*response.payload.joined_bytes(), b"data: 1\n\n\xff");
    assert_eq!(response.headers.len(), 3);
    assert_eq!(&*entry.request.unwrap().body, b"{\"seed\":9007199254740993}");
    assert_eq!(entry.usage.unwrap().cached_tokens, 7);
}

/// Returns the text of an entry, written by way of its value.
fn text_by_value(entry: &Entry) -> Vec<u8> {
    let mut text = Vec::new();
    write_file_value(&mut text, &entry.to_json(), 1);
    text
}

#[test]
fn text_is_that_of_the_value() {
    let mut entry = parsed(&full());
    assert_eq!(entry.to_text(), text_by_value(&entry));
    entry.extra.insert("content".to_owned(), json!("a stray"));
    entry.extra.insert("fault".to_owned(), json!({}));
    assert_eq!(entry.to_text(), text_by_value(&entry));
    assert_eq!(Entry::default().to_text(), text_by_value(&Entry::default()));
}

proptest! {
    #[test]
    fn text_is_that_of_the_value_whatever_the_bodies(
        body in any_piece(),
        pieces in prop::collection::vec((0_u32..1_000_000, any_piece()), 0..4),
        layout in 0..3,
    ) {
        let mut entry = parsed(&full());
        let layout = [ChunkLayout::Whole, ChunkLayout::Frames, ChunkLayout::Chunks][layout as usize];
        let chunk = |(ms, data): (u32, Vec<u8>)| Chunk { at_ms: f64::from(ms) / 10.0, data: data.into() };
        let chunks = pieces.into_iter().map(chunk).collect();
        if let Some(request) = &mut entry.request {
            request.body = body.into();
        }
        if let Some(response) = &mut entry.response {
            response.payload = ResponsePayload::new(layout, chunks);
        }
        prop_assert_eq!(entry.to_text(), text_by_value(&entry));
    }

    #[test]
    fn text_is_that_of_the_value_whatever_the_fields(entry in any_entry(), level in 1_usize..3) {
        let (mut text, mut by_value) = (Vec::new(), Vec::new());
        entry.write_file(&mut text, level);
        write_file_value(&mut by_value, &entry.to_json(), level);
        prop_assert_eq!(text, by_value);
    }
}

#[test]
fn agentloom_fields_are_converted_as_agentloom_converts_them() {
    let entry = parsed(&json!({
        "content": 42, "cost_usd": "0.5",
        "usage": {"prompt_tokens": "12", "completion_tokens": 3.9, "total_tokens": 15}
    }));
    assert_eq!(entry.content.as_deref(), Some("42"));
    assert_eq!(entry.cost_usd, Some(0.5));
    let usage = entry.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (12, 3, 15));
}

#[test]
fn null_is_read_as_absent_and_never_written() {
    let entry = parsed(&json!({
        "content": null, "cost_usd": null, "usage": {"prompt_tokens": null}, "latency_ms": null
    }));
    assert_eq!(entry.content, None);
    let usage = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "reasoning_tokens": 0});
    assert_eq!(entry.to_json(), json!({"usage": usage}));
    let answered = parsed(&json!({"response": {"status": 204}}));
    assert_eq!(answered.to_json()["content"], json!(""));
}

#[test]
fn cost_that_is_no_number_is_written_as_zero() {
    let entry =
        Entry { cost_usd: Some(f64::NAN), latency_ms: Some(f64::INFINITY), ..Entry::default() };
    assert_eq!(entry.to_json().to_string(), r#"{"cost_usd":0.0,"latency_ms":0.0}"#);
}

#[test]
fn plain_entry_is_servable_and_an_incomplete_one_is_not() {
    assert!(parsed(&json!({"content": "x"})).is_servable());
    assert!(parsed(&json!({"fault": {"type": "hang"}})).is_servable());
    for (end, servable) in [
        ("complete", true),
        ("upstream_abort", true),
        ("client_abort", false),
        ("truncated", false),
    ] {
        let entry = parsed(&json!({"response": {"status": 200, "end": end}}));
        assert_eq!(entry.is_servable(), servable, "{end}");
    }
}

#[test]
fn wrong_field_is_refused_with_its_place_and_without_its_value() {
    for (name, value, place) in [
        ("usage", json!([]), "/usage must be an object, but is a list"),
        ("usage", json!({"prompt_tokens": -1}), "/usage/prompt_tokens must be"),
        ("usage", json!({"total_tokens": "sk-secret"}), "/usage/total_tokens must be"),
        ("cost_usd", json!("cheap"), "/cost_usd must be"),
        ("latency_ms", json!("1"), "/latency_ms must be"),
        ("model", json!(1), "/model must be"),
        (
            "tool_calls",
            json!([{"name": "t", "arguments": "{}"}]),
            "/tool_calls/0/arguments must be an object",
        ),
        ("tool_calls", json!([{"arguments": {}}]), "/tool_calls/0/name must be"),
        ("embeddings", json!([[1], ["x"]]), "/embeddings/1 must be"),
        ("request_hash", json!("ABC"), "/request_hash must be 64 lower-case hex digits"),
        ("request", json!({"path": "/"}), "/request/method must be an HTTP method, but is missing"),
        ("request", json!({"method": "GET", "path": 1}), "/request/path must be"),
        ("response", json!({}), "/response/status must be"),
        ("response", json!({"status": 99}), "/response/status must be"),
        ("response", json!({"status": 200, "end": "later"}), "/response/end must be"),
        ("response", json!({"status": 200, "headers": {"a": 1}}), "/response/headers must be"),
        ("response", json!({"status": 200, "headers": [["a"]]}), "/response/headers must be"),
        ("fault", json!("hang"), "/fault must be an object"),
    ] {
        let error = refused(&json!({ name: value }));
        assert!(error.starts_with(place), "{name}: {error}");
        assert!(!error.contains("sk-secret"));
    }
    assert_eq!(refused(&json!(1)), "the entry must be an object, but is a number");
}

#[test]
fn response_is_cut_to_what_its_client_got() {
    let cut = |bytes| {
        let chunk = |data: &'static str| Chunk { at_ms: 1.0, data: data.into() };
        let chunks = ["one", "two"].map(chunk).to_vec();
        let payload = ResponsePayload::new(ChunkLayout::Chunks, chunks);
        let end = ResponseEnd::Complete;
        let mut response = RecordedResponse {
            status: 200,
            reason: None,
            headers: vec![],
            trailers: Vec::new(),
            payload,
            end,
        };
        response.cut_to(ClientLeft { at_ms: 5.0, bytes });
        assert_eq!(response.end, ResponseEnd::ClientAbort);
        let texts = response.payload.chunks().iter().map(|chunk| chunk.data.clone());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(cut(None), [""; 0]);
    assert_eq!(cut(Some(0)), [""; 0]);
    assert_eq!(cut(Some(4)), ["one", "t"]);
    assert_eq!(cut(Some(6)), ["one", "two"]);
    assert_eq!(cut(Some(u64::MAX)), ["one", "two"]);
}
